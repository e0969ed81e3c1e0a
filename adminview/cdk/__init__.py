"""CDK constructs: `AdminView`, its parts, and their options."""

from adminview.cdk.admin_view import AdminView
from adminview.cdk.constructs.query_api import QueryApi
from adminview.cdk.constructs.recovery import Recovery
from adminview.cdk.constructs.source_tables import SourceStream, SourceTables, source_streams
from adminview.cdk.constructs.sync_pipeline import SyncPipeline
from adminview.cdk.constructs.table import AdminViewTable
from adminview.cdk.constructs.totals import Totals
from adminview.cdk.monitoring.monitoring import Monitoring
from adminview.cdk.options.alarm_contact import AlarmContact
from adminview.cdk.options.api_access import ApiAccess
from adminview.cdk.options.customer_key import CustomerKey
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.cdk.options.network import Network
from adminview.cdk.options.stage import Stage

__all__ = [
    "AdminView",
    "AdminViewTable",
    "AlarmContact",
    "ApiAccess",
    "CustomerKey",
    "DeploymentOptions",
    "Monitoring",
    "Network",
    "QueryApi",
    "Recovery",
    "SourceStream",
    "SourceTables",
    "Stage",
    "SyncPipeline",
    "Totals",
    "source_streams",
]
