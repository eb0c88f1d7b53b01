// An app that imports this module also sees the modules that its signatures name.
@_exported public import HeldSocket
@_exported public import LinkCore
@_exported public import LinkDriver
