public import HoldfastBottleData
public import HoldfastBottleLink
public import HoldfastCore
public import HoldfastHealth
public import HoldfastHealthRelay
public import HoldfastHealthSamples
public import HoldfastHealthSync
public import HoldfastMessageData
public import HoldfastMessageStream
public import HoldfastPorts
public import HoldfastRelayData
public import HoldfastSession
public import HoldfastSessionData
public import HoldfastSyncData
public import HoldfastUploads

// The names of types that occur in exported declarations but are not exported themselves. An app
// writes `StreamUpdate.Status`, which cannot collide with a type of its own.

extension StreamUpdate {
  /// The status of a stream.
  public typealias Status = HoldfastMessageStream.StreamStatus
  /// A condition of a stream that is worth logging.
  public typealias Notice = HoldfastMessageStream.StreamNotice
  /// A message of the user in the outbox.
  public typealias OutboxEntry = HoldfastMessageData.OutboxEntry
  /// The image of a message in the outbox.
  public typealias OutboxImage = HoldfastMessageData.OutboxImage
  /// An overlay of the user's edits and deletions that the server has not confirmed.
  public typealias PendingChanges = HoldfastMessageStream.PendingChanges
  /// A message that was deleted on the server.
  public typealias Deletion = HoldfastMessageData.DeletedMessage
  /// A gap between two stored messages.
  public typealias Gap = HoldfastMessageData.ShopGap
  /// An error in a message or a response of the server.
  public typealias MessageError = HoldfastMessageData.MessageError
}

extension ShopStream {
  /// The type of an image.
  public typealias ImageType = HoldfastMessageData.ImageType
}

extension ShopMessage {
  /// The position of a message in the server's log.
  public typealias Position = HoldfastMessageData.ShopPosition
  /// What the author of a message decides.
  public typealias Content = HoldfastMessageData.MessageContent
  /// The key by which messages are ordered.
  public typealias Key = HoldfastMessageData.TimelineKey
}

extension ShopConsumer {
  /// The first delivery of a new consumer.
  public typealias Start = HoldfastMessageData.ConsumerStart
  /// The state of a consumer: its name and its acknowledgement.
  public typealias State = HoldfastMessageData.ConsumerState
}

extension SessionUpdate {
  /// A change of a prompt's state.
  public typealias Prompt = HoldfastSession.SessionPromptState
  /// A prompt that waits, as it is stored.
  public typealias PendingPrompt = HoldfastSessionData.StoredPrompt
  /// A condition of a session that is worth logging.
  public typealias Notice = HoldfastSession.SessionNotice
  /// The reason why messages are missing.
  public typealias Gap = HoldfastSession.SessionGap
  /// A record of one connection.
  public typealias Record = HoldfastSession.SessionRecord
  /// The way in which a message arrived.
  public typealias Via = HoldfastSessionData.SessionVia
}

extension SessionEntry {
  /// The author of a message.
  public typealias Role = HoldfastSessionData.SessionRole
}

extension SessionError {
  /// A version of the session protocol.
  public typealias Version = HoldfastSessionData.SessionVersion
}

extension RelayUpdate {
  /// The code and the words with which an assistant pairs.
  public typealias Pair = HoldfastHealthRelay.RelayPair
  /// A question that has ended, with its outcome.
  public typealias Receipt = HoldfastHealthRelay.RelayReceipt
  /// A problem that did not end the connection.
  public typealias Problem = HoldfastHealthRelay.RelayProblem
  /// The id that the server assigned to a question.
  public typealias RequestID = HoldfastRelayData.RelayRequestID
}

extension RelayConfiguration {
  /// The settings of a relay: its policy, and whether it shows a notification.
  public typealias Settings = HoldfastHealthRelay.RelaySettings
}

extension PairingStore {
  /// The token that resumes a pairing. Its description does not contain the text.
  public typealias Token = HoldfastCore.Secret
}

extension PushAddress {
  /// The address of a device at APNs.
  public typealias APNs = HoldfastRelayData.APNsAddress
}

extension PairedAssistants {
  /// An order about the pairings of a phone.
  public typealias Order = HoldfastRelayData.AssistantsOrder
  /// The name of an assistant.
  public typealias AssistantName = HoldfastRelayData.AssistantName
}

extension HealthQuestion {
  /// A question about one type of data.
  public typealias DataQuery = HoldfastHealth.HealthDataQuery
  /// A question about a summary of several types.
  public typealias Summary = HoldfastHealth.SummaryQuery
  /// The optional parts of a question.
  public typealias Options = HoldfastHealth.HealthOptions
}

extension SyncUpdate {
  /// A report of one batch.
  public typealias BatchReport = HoldfastHealthSync.SyncBatchReport
  /// The counts of one type.
  public typealias TypeReport = HoldfastHealthSync.SyncTypeReport
  /// A condition of a sync that is worth logging.
  public typealias Notice = HoldfastHealthSync.SyncNotice
  /// The reason why the source could not be read.
  public typealias SourceFailure = HoldfastSyncData.HealthSourceFailure
  /// The position in a source of samples.
  public typealias Anchor = HoldfastHealthSamples.HealthAnchor
  /// The person and the server to which samples belong.
  public typealias Owner = HoldfastUploads.SyncOwner
}

extension SyncConfiguration {
  /// The conditions of the device that a sync obeys.
  public typealias Conditions = HoldfastHealthSync.SyncConditions
}

extension HealthImport {
  /// The counts of an export's samples.
  public typealias Counts = HoldfastHealthSamples.ExportCounts
  /// The reason why a sample was skipped.
  public typealias Skip = HoldfastHealthSamples.HealthExportSkip
  /// The samples that were added to a store.
  public typealias Addition = HoldfastHealthSamples.HealthAddition
}

extension WakeCause {
  /// A grant of background execution time, which is given back exactly once.
  public typealias Wake = HoldfastPorts.Wake
  /// The result with which a grant is given back.
  public typealias Result = HoldfastCore.WakeResult
  /// The reason why a task was not scheduled.
  public typealias Failure = HoldfastPorts.WakeFailure
}

extension BottleUpdate {
  /// The status of the link to a bottle.
  public typealias Status = HoldfastBottleLink.BottleStatus
  /// A condition of the link that is worth logging.
  public typealias Notice = HoldfastBottleLink.BottleNotice
  /// The result of `refresh()`.
  public typealias RefreshResult = HoldfastBottleLink.BottleRefreshResult
  /// The result of `perform(_:)`.
  public typealias RequestResult = HoldfastBottleLink.BottleRequestResult
  /// The reason why drinks could not be fetched.
  public typealias SyncFailure = HoldfastBottleLink.SyncFailure
  /// The state that a bottle reported.
  public typealias State = HoldfastBottleData.BottleState
  /// The state of a calibration.
  public typealias Calibration = HoldfastBottleData.BottleCalibration
  /// The state of the device's Bluetooth adapter.
  public typealias AdapterState = HoldfastBottleData.AdapterState
}

extension BottleLinkConfiguration {
  /// The settings of the link to a bottle.
  public typealias Settings = HoldfastBottleLink.BottleSettings
}

extension BottleDrink {
  /// A drink as the bottle recorded it.
  public typealias Record = HoldfastBottleData.BottleRecord
}

extension KnownBottle {
  /// The id of a bottle, by which the radio finds it.
  public typealias PeripheralID = HoldfastBottleData.PeripheralID
}

extension BottleConfiguration {
  /// An error in the format of a bottle's bytes.
  public typealias FormatError = HoldfastBottleData.BottleFormatError
}

extension StreamStatus {
  /// Returns the time until the next attempt; `nil` if none is scheduled.
  ///
  /// - Parameter clock: The clock of the stream's ports, if it has another one than the device's.
  public func retryIn(on clock: any LinkClock = BootClock()) -> Duration? {
    retryIn(at: clock.now)
  }
}

extension RelayStatus {
  /// Returns the time until the next attempt; `nil` if none is scheduled.
  ///
  /// - Parameter clock: The clock of the relay's ports, if it has another one than the device's.
  public func retryIn(on clock: any LinkClock = BootClock()) -> Duration? {
    retryIn(at: clock.now)
  }
}

extension BottleStatus {
  /// Returns the time until the next attempt; `nil` if none is scheduled.
  ///
  /// - Parameter clock: The clock of the bottle's ports, if it has another one than the device's.
  public func retryIn(on clock: any LinkClock = BootClock()) -> Duration? {
    retryIn(at: clock.now)
  }
}
