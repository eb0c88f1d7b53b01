// These exports let a test that imports Holdfast and this module name the types in the signatures of
// the fakes. Each type is exported individually, since an individually imported name takes precedence
// over the same name in another module.
@_exported public import struct HoldfastCore.Instant
@_exported public import enum HoldfastCore.LinkFailure
@_exported public import struct HoldfastCore.PathID
@_exported public import struct HoldfastPorts.HTTPAnswer
@_exported public import struct HoldfastPorts.HTTPCall
@_exported public import enum HoldfastPorts.LifecycleEvent
@_exported public import protocol HoldfastPorts.LifecycleMonitor
@_exported public import struct HoldfastPorts.LifecycleNotice
@_exported public import protocol HoldfastPorts.LinkClock
@_exported public import protocol HoldfastPorts.ReachabilityMonitor
@_exported public import protocol HoldfastPorts.SocketDialer
@_exported public import struct HoldfastPorts.SocketRequest
