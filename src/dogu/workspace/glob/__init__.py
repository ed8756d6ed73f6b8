"""Globs: what one matches (`pattern`, its braces in `braces`), and finding files by it (`find`)."""

from dogu.workspace.glob.find import FoundFiles as FoundFiles
from dogu.workspace.glob.find import GlobQuery as GlobQuery
from dogu.workspace.glob.pattern import GlobPattern as GlobPattern
from dogu.workspace.glob.pattern import PathFilter as PathFilter
from dogu.workspace.glob.pattern import split_base as split_base
