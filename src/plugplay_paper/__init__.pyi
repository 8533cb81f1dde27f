from .reproduction import Reproduction as Reproduction
from .reproduction import reproduce as reproduce
