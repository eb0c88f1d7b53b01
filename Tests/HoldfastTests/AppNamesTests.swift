import Holdfast
import Testing

/// Declarations of an app that imports nothing else of this package. They only have to compile.
private enum AppScreens {
  static func show(_: StreamUpdate.Status, _: StreamUpdate.Notice, _: StreamUpdate.OutboxEntry) {}
  static func show(_: StreamUpdate.Gap, _: StreamUpdate.MessageError, _: ShopMessage.Position) {}
  static func show(_: ShopMessage.Key, _: ShopConsumer.Start, _: ShopConsumer.State) {}
  static func show(_: SessionUpdate.Prompt, _: SessionUpdate.PendingPrompt) {}
  static func show(_: SessionUpdate.Notice, _: SessionUpdate.Gap, _: SessionUpdate.Record) {}
  static func show(_: SessionUpdate.Via, _: SessionEntry.Role, _: SessionError.Version) {}
  static func show(_: RelayUpdate.Pair, _: RelayUpdate.Receipt, _: RelayUpdate.Problem) {}
  static func show(_: RelayUpdate.RequestID, _: RelayConfiguration.Settings) {}
  static func show(_: PairingStore.Token, _: PushAddress.APNs, _: PairedAssistants.Order) {}
  static func show(_: HealthQuestion.DataQuery, _: HealthQuestion.Summary) {}
  static func show(_: SyncUpdate.BatchReport, _: SyncUpdate.TypeReport, _: SyncUpdate.Notice) {}
  static func show(_: SyncUpdate.SourceFailure, _: SyncUpdate.Anchor, _: SyncUpdate.Owner) {}
  static func show(_: SyncConfiguration.Conditions, _: HealthImport.Counts) {}
  static func show(_: HealthImport.Skip, _: HealthImport.Addition) {}
  static func show(_: BottleUpdate.Status, _: BottleUpdate.Notice, _: BottleUpdate.State) {}
  static func show(_: BottleUpdate.RefreshResult, _: BottleUpdate.RequestResult) {}
  static func show(_: BottleUpdate.SyncFailure, _: BottleUpdate.Calibration) {}
  static func show(_: BottleUpdate.AdapterState, _: BottleLinkConfiguration.Settings) {}
  static func show(_: BottleDrink.Record, _: KnownBottle.PeripheralID) {}

  static func waits(
    _ link: LinkStatus, _ stream: StreamUpdate.Status, _ relay: RelayStatus,
    _ bottle: BottleUpdate.Status
  ) -> [Duration?] {
    [link.retryIn(), stream.retryIn(), relay.retryIn(), bottle.retryIn()]
  }
}

/// Tests of the names that an app can spell with one import.
@Suite struct AppNamesTests {
  @Test func `a nested name is the type that an update contains`() {
    let update = StreamUpdate.notice(.signIn)
    let notice: StreamUpdate.Notice? = if case .notice(let notice) = update { notice } else { nil }
    #expect(notice == .signIn)
    let status = RelayStatus(.idle)
    #expect(status.retryIn() == nil)
  }
}
