// An app that imports this module also imports the modules whose types occur in its signatures. The
// types of LinkWire are exported individually, because an individually imported name takes
// precedence over the same name in another module, such as `Message` in StoreKit.
@_exported public import BottleLink
@_exported public import HealthRelay
@_exported public import HealthSync
@_exported public import HoldfastSocket
@_exported public import LinkHealth
@_exported public import LinkRuntime
@_exported public import LinkStorage
@_exported public import struct LinkWire.APNsAddress
@_exported public import enum LinkWire.AdapterState
@_exported public import struct LinkWire.AssistantName
@_exported public import enum LinkWire.AssistantsOrder
@_exported public import struct LinkWire.BottleCalibration
@_exported public import enum LinkWire.BottleCommand
@_exported public import struct LinkWire.BottleConfiguration
@_exported public import struct LinkWire.BottleFormatError
@_exported public import struct LinkWire.BottleRecord
@_exported public import struct LinkWire.BottleState
@_exported public import struct LinkWire.BottleSwitches
@_exported public import enum LinkWire.CentralEvent
@_exported public import struct LinkWire.FileUpload
@_exported public import typealias LinkWire.GATTID
@_exported public import enum LinkWire.HealthPageStart
@_exported public import enum LinkWire.HealthSourceFailure
@_exported public import struct LinkWire.Message
@_exported public import enum LinkWire.MessageError
@_exported public import typealias LinkWire.MessageID
@_exported public import struct LinkWire.PairedAssistants
@_exported public import struct LinkWire.PeripheralID
@_exported public import struct LinkWire.Position
@_exported public import enum LinkWire.PushAddress
@_exported public import struct LinkWire.RelayRequestID
@_exported public import struct LinkWire.RelayWireError
@_exported public import struct LinkWire.RestoredPeripheral
@_exported public import struct LinkWire.SessionEntry
@_exported public import struct LinkWire.SessionError
@_exported public import enum LinkWire.SessionRole
@_exported public import struct LinkWire.SessionVersion
@_exported public import struct LinkWire.ShopID
@_exported public import struct LinkWire.SourcePage
@_exported public import struct LinkWire.SourceSample
@_exported public import struct LinkWire.SyncIdentity
@_exported public import struct LinkWire.SyncOwner
@_exported public import struct LinkWire.TimelineKey
@_exported public import enum LinkWire.UploadOutcome
@_exported public import MessageStream
@_exported public import Session
