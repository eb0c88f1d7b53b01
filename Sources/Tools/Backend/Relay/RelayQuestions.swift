public import LinkServerCore
import ServerSockets

extension Backend {
  /// Calls the relay as an assistant at `address` does, without a socket.
  public func ask(
    _ ask: RelayAsk, bearer: String? = nil, from address: String = "process"
  ) async throws(BackendError) -> RelayOutcome {
    let sockets = try sockets()
    let question = RelayService.Question(
      ask: ask, bearer: bearer.map(RelaySecrets.hash), address: address)
    return await withCheckedContinuation { caller in
      sockets.inject { handler, hub in
        handler.turn(on: hub) {
          $0.call(RelayService.self, question) { caller.resume(returning: $0) }
        }
      }
    }
  }
}
