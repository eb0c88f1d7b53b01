// The names that an app sees beside those that are declared in this module. They are exported one by
// one, so that no other name of these modules can collide with a name of the app. Since an exported
// name takes precedence over the same name of another module, none of them is a common word.
@_exported public import HoldfastSocket

@_exported public import enum HoldfastBottleData.BottleCommand
@_exported public import struct HoldfastBottleData.BottleConfiguration
@_exported public import struct HoldfastBottleData.BottleDrink
@_exported public import struct HoldfastBottleData.BottleSwitches
@_exported public import struct HoldfastBottleData.KnownBottle
@_exported public import enum HoldfastBottleLink.BottleRequest
@_exported public import enum HoldfastBottleLink.BottleUpdate
@_exported public import struct HoldfastHealth.HealthObject
@_exported public import enum HoldfastHealth.HealthQuestion
@_exported public import struct HoldfastHealth.ZoneRules
@_exported public import struct HoldfastHealthRelay.PullReport
@_exported public import enum HoldfastHealthRelay.RelayProfile
@_exported public import struct HoldfastHealthRelay.RelayStatus
@_exported public import enum HoldfastHealthRelay.RelayUpdate
@_exported public import enum HoldfastHealthSync.SyncTypes
@_exported public import enum HoldfastHealthSync.SyncUpdate
@_exported public import struct HoldfastMessageData.ConsumerName
@_exported public import typealias HoldfastMessageData.MessageID
@_exported public import struct HoldfastMessageData.ShopDelivery
@_exported public import struct HoldfastMessageData.ShopID
@_exported public import struct HoldfastMessageData.ShopMessage
@_exported public import enum HoldfastMessageStream.StreamUpdate
@_exported public import enum HoldfastPorts.WakeCause
@_exported public import struct HoldfastRelayData.PairedAssistants
@_exported public import enum HoldfastRelayData.PushAddress
@_exported public import enum HoldfastSession.SessionUpdate
@_exported public import struct HoldfastSessionData.SessionEntry
@_exported public import struct HoldfastSessionData.SessionError
