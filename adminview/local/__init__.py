"""Local engines, and the event-source emulator."""
