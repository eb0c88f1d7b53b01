import Foundation
import Holdfast
import HoldfastBottleLink
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthRelay
import HoldfastHealthSync
import HoldfastMessageStream
import HoldfastStorage
import HoldfastSession
import HoldfastWire
import Observation

@testable import HoldfastUI

/// Messages without a shop: what is done to them shows at once.
@MainActor @Observable final class ScriptedMessages: MessageScreenModel {
  var messages: [MessageRow]
  var waiting: [WaitingRow] = []
  var connection = ConnectionState(phase: .live)
  var gaps: [ShopGap] = []
  var hasOlder = false
  var notice: StreamNotice?
  var phase = OpeningPhase.open
  /// The error with which a text is not accepted; `nil` if it is.
  var refusal: OpenError?

  init(_ messages: [MessageRow] = []) { self.messages = messages }

  func follow() async {}

  func retry() { phase = .opening }

  func send(accepting text: String) async throws {
    if let refusal { throw refusal }
    waiting.append(.sample(waiting.count + 1, text))
  }

  func retry(_ row: WaitingRow) {
    guard let index = waiting.firstIndex(of: row) else { return }
    waiting[index].entry.state = .queued(tries: 0)
  }

  func discard(_ row: WaitingRow) { waiting.removeAll { $0.id == row.id } }

  func dismissNotice() { notice = nil }

  func refreshAll() async { notice = nil }

  func reconnect() { connection = ConnectionState(phase: .connecting, attempt: 1) }

  func loadOlder() {
    if gaps.popLast() == nil { hasOlder = false }
  }
}

/// A conversation without a session: what is done to it shows at once.
@MainActor @Observable final class ScriptedConversation: ConversationScreenModel {
  var turns: [TurnRow]
  var connection = ConnectionState(phase: .live)
  var quality: LinkQuality? = .good
  var gap: SessionGap?
  var notice: SessionNotice?
  var phase = OpeningPhase.open

  init(_ turns: [TurnRow] = []) { self.turns = turns }

  func follow() async {}

  func retry() { phase = .opening }

  func ask(_ text: String) async throws {
    turns.append(.prompt(turns.count + 1, text, .queued))
  }

  func retry(_ row: TurnRow) {
    guard let index = turns.firstIndex(of: row) else { return }
    turns[index].state = .sent
  }

  func discard(_ row: TurnRow) { turns.removeAll { $0.id == row.id } }

  func cancel() {
    guard let index = turns.lastIndex(where: { $0.state == .accepted }) else { return }
    turns[index].state = .interrupted
  }

  func reconnect() { connection = ConnectionState(phase: .connecting, attempt: 1) }
}

/// A pairing without a relay: what is done to it shows at once.
@MainActor @Observable final class ScriptedPairing: PairingCardModel {
  var pair: RelayPair?
  var connection = ConnectionState()
  var receipts: [ReceiptRow] = []
  var problem: RelayProblem?
  var phase = OpeningPhase.open
  /// The failure with which the token of the pairing is read and removed; `nil` if there is none.
  var failure: StoreFailure?

  init(_ connection: ConnectionState = ConnectionState(), pair: RelayPair? = nil) {
    (self.connection, self.pair) = (connection, pair)
  }

  func follow() async {}

  func retry() { phase = .opening }

  func start() throws(StoreFailure) {
    if let failure { throw failure }
    connection = ConnectionState(phase: .connecting, attempt: 1)
  }

  func reconnect() { connection = ConnectionState(phase: .connecting, attempt: 1) }

  func stop() throws(StoreFailure) {
    if let failure { throw failure }
    (connection, pair) = (ConnectionState(), nil)
  }
}

/// A sync without a server: what is done to it shows at once.
@MainActor @Observable final class ScriptedSync: SyncCardModel {
  var types: [SyncTypeRow]
  var quarantined: [SyncBatchReport] = []
  var needsSignIn = false
  var notice: SyncNotice?
  var lastSync: Date?
  var canAsk = false
  var phase = OpeningPhase.open
  /// Answers the question for access; `nil` to answer at once.
  var answer: (@MainActor () async -> HealthSourceFailure?)?

  init(
    _ types: [SyncTypeRow] = [], quarantined: [SyncBatchReport] = [], notice: SyncNotice? = nil,
    needsSignIn: Bool = false
  ) {
    (self.types, self.quarantined) = (types, quarantined)
    (self.notice, self.needsSignIn) = (notice, needsSignIn)
  }

  func follow() async {}

  func retry() { phase = .opening }

  func retryNow() { (notice, quarantined) = (nil, []) }

  func ask() async throws(HealthSourceFailure) {
    if let failure = await answer?() { throw failure }
  }
}

/// A bottle without a radio: what is done to it shows at once.
@MainActor @Observable final class ScriptedBottle: BottleCardModel {
  var drinks: [DrinkRow]
  var state: BottleState?
  var status: BottleStatus
  var retryAt: Date?
  var phase = OpeningPhase.open
  /// The result of a refresh.
  var result: BottleRefreshResult? = .synced(2)

  init(
    _ drinks: [DrinkRow] = [], state: BottleState? = nil, status: BottleStatus = BottleStatus()
  ) {
    (self.drinks, self.state, self.status) = (drinks, state, status)
  }

  func follow() async {}

  func retry() { phase = .opening }

  func refresh() async -> BottleRefreshResult? { result }

  func reconnect() { status = .sample(.scanning, [.scan]) }
}

extension ScriptedMessages {
  /// A shop with messages of all kinds.
  static var sample: ScriptedMessages {
    let shop = ScriptedMessages([
      .sample(1, "Two oat, please."), .sample(2, "They are on their way.", by: "Grace"),
      .sample(3, "Thank you!", isEdited: true),
    ])
    shop.waiting = [.sample(1, "And one rye."), .sample(2, "Hello?", failed: "no answer")]
    shop.hasOlder = true
    return shop
  }
}

extension ScriptedConversation {
  /// A conversation with turns of all kinds.
  static var sample: ScriptedConversation { ScriptedConversation(TurnRow.samples) }
}

extension ScriptedBottle {
  /// A bottle with drinks.
  static func sample(_ status: BottleStatus) -> ScriptedBottle {
    ScriptedBottle(DrinkRow.samples, state: .sample(total: 270, minute: 560), status: status)
  }
}
