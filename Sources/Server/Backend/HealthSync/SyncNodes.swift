import HoldfastServerSockets
import HoldfastSyncServer

extension Backend {
  /// Passes the epoch of synced samples, which another node may have begun, to the rules.
  func adopt(syncEpoch epoch: String) {
    guard case .running(let running) = state else { return }
    running.sockets.inject { handler, hub in
      handler.turn(on: hub) { handler in
        handler.work(on: SyncService.self) { $0.feed(.epoch(epoch)) }
      }
    }
  }
}
