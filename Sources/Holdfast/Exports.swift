// An app that imports this module also sees the modules that its signatures name.
@_exported public import BottleLink
@_exported public import HealthRelay
@_exported public import HealthSync
@_exported public import HoldfastSocket
@_exported public import LinkHealth
@_exported public import LinkRuntime
@_exported public import LinkStorage
@_exported public import LinkWire
@_exported public import MessageStream
@_exported public import Session
