public import Holdfast
import HoldfastHealthRelay

extension HealthPairing {
  /// Returns a model for previews and for tests of an app's screens. It uses no network, no disk and
  /// no clock. Its methods have no effect.
  ///
  /// - Parameters:
  ///   - pair: The pairing code; `nil` if the server has not sent one.
  ///   - connection: The state of the connection, with a reason and the time of the next attempt.
  ///   - receipts: The most recent questions, newest first.
  ///   - problem: The most recent problem.
  ///   - phase: Whether the relay is open.
  public static func preview(
    _ pair: RelayUpdate.Pair? = nil, connection: ConnectionState = ConnectionState(),
    receipts: [ReceiptRow] = [], problem: RelayUpdate.Problem? = nil, phase: OpeningPhase = .open
  ) -> HealthPairing {
    let model = HealthPairing(Opening(previewing: phase), nil, Dates(clock: PreviewClock()))
    (model.pair, model.connection) = (pair, connection)
    (model.receipts, model.problem) = (receipts, problem)
    return model
  }
}
