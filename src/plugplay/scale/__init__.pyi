from .cluster import Dask as Dask
from .executors import Adaptive as Adaptive
from .executors import Ended as Ended
from .executors import Executor as Executor
from .executors import LostSchedulerError as LostSchedulerError
from .executors import Serial as Serial
from .executors import executor as executor
from .processes import Processes as Processes
