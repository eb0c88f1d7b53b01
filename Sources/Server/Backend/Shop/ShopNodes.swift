import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerSockets

extension Backend {
  /// Passes what was learned about other nodes to the rules of messages.
  func heard(_ news: NodeNews) {
    guard case .running(let running) = state else { return }
    running.sockets.inject { handler, hub in
      handler.turn(on: hub) { handler in
        handler.work(on: ShopService.self) { $0.feed(.nodes(news)) }
      }
    }
  }
}
