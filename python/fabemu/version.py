"""The version of the package. A wheel of a release has its number here (wheel.py)."""

__version__ = "devel"
