// What stands in the signatures of this module is part of it: an app imports Holdfast and no more.
@_exported public import BottleLink
@_exported public import HealthRelay
@_exported public import HealthSync
@_exported public import HeldSocket
@_exported public import LinkCore
@_exported public import LinkRuntime
@_exported public import LinkWire
@_exported public import MessageStream
@_exported public import Session
