from .reproduction import Plan as Plan
from .reproduction import reproduce as reproduce
