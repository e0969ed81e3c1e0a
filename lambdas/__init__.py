"""AdminView at run time: a file here is a deployed function, a folder is library."""
