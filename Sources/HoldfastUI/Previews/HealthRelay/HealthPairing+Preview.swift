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
  ///   - assistants: The assistants that are signed in.
  ///   - usesSynced: Whether they get answers while the phone is away.
  ///   - failure: The reason why a change of their access had no effect.
  ///   - phase: Whether the relay is open.
  public static func preview(
    _ pair: RelayUpdate.Pair? = nil, connection: ConnectionState = ConnectionState(),
    receipts: [ReceiptRow] = [], problem: RelayUpdate.Problem? = nil,
    assistants: [AssistantRow] = [], usesSynced: Bool = false, failure: AccessFailure? = nil,
    phase: OpeningPhase = .open
  ) -> HealthPairing {
    let model = HealthPairing(Opening(previewing: phase), nil, Dates(clock: PreviewClock()))
    (model.access.assistants, model.access.usesSynced) = (assistants, usesSynced)
    model.access.failure = failure
    (model.pair, model.connection) = (pair, connection)
    (model.receipts, model.problem) = (receipts, problem)
    return model
  }
}
