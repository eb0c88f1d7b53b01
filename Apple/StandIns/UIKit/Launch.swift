// The script's side of a launch: the system's calls of the app delegate, and what became of their
// completion handlers.
import Foundation
import Synchronization

/// A completion handler that the system passed to the app delegate.
@_spi(Script) public final class ScriptedHandler: Sendable {
  private let calls = Mutex<[String]>([])

  /// The results with which the handler was called, in words.
  public var results: [String] { calls.withLock(\.self) }

  func call(_ result: String) {
    MainActor.assertIsolated("UIKit's handlers are called on the main thread")
    calls.withLock { $0.append(result) }
  }
}

@_spi(Script) extension UIApplication {
  /// Launches the app with its delegate, as the system does.
  public func launch(
    _ delegate: any UIApplicationDelegate, _ options: [LaunchOptionsKey: Any]? = nil
  ) {
    self.delegate = delegate
    if !delegate.application(self, didFinishLaunchingWithOptions: options) {
      addMisuse("the launch was refused")
    }
  }

  /// Delivers a push without content.
  public func deliverPush() -> ScriptedHandler {
    handler("push") { delegate, handler in
      delegate.application(self, didReceiveRemoteNotification: [:]) { handler.call("\($0)") }
    }
  }

  /// Reports that uploads of a background session ended while the app was not running.
  public func deliverEvents(ofSession session: String) -> ScriptedHandler {
    handler("uploads") { delegate, handler in
      delegate.application(self, handleEventsForBackgroundURLSession: session) {
        handler.call("done")
      }
    }
  }

  private func handler(
    _ name: String, _ deliver: (any UIApplicationDelegate, ScriptedHandler) -> Void
  ) -> ScriptedHandler {
    let made = ScriptedHandler()
    handlers.append((name, made))
    if let delegate { deliver(delegate, made) } else { addMisuse("\(name) without a delegate") }
    return made
  }

  /// Supplies a token for pushes, or the reason why there is none.
  public func deliverToken(_ token: Result<Data, any Error>) {
    switch token {
    case .success(let token):
      delegate?.application(self, didRegisterForRemoteNotificationsWithDeviceToken: token)
    case .failure(let error):
      delegate?.application(self, didFailToRegisterForRemoteNotificationsWithError: error)
    }
  }

  /// The completion handlers that have not been called.
  public var openHandlers: [String] {
    handlers.filter { $0.handler.results.isEmpty }.map(\.name)
  }

  /// Ends the time of the app: returns each misuse, each handler that was not called exactly once, and
  /// each background task that is open.
  public func takeLaunchMisuses() -> [String] {
    let uncalled = handlers.compactMap { name, handler in
      let count = handler.results.count
      return count == 1 ? nil : "the handler of \(name) was called \(count) times"
    }
    let open = openTasks.map { "the background task \($0) is open" }
    handlers = []
    return takeMisuses() + uncalled + open
  }
}
