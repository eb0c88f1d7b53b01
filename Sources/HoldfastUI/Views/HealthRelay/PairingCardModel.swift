import HoldfastCore
import HoldfastHealthRelay

/// The part of a model that the card of a pairing uses.
@MainActor protocol PairingCardModel: AnyObject, Sendable {
  var pair: RelayPair? { get }
  var connection: ConnectionState { get }
  var receipts: [ReceiptRow] { get }
  var problem: RelayProblem? { get }
  var phase: OpeningPhase { get }

  func follow() async
  func retry()
  func start() throws(StoreFailure)
  func reconnect()
  func stop() throws(StoreFailure)
}

extension HealthPairing: PairingCardModel {}
