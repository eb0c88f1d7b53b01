import Foundation
import Holdfast
public import HoldfastCore
public import HoldfastPorts
public import HoldfastRelayData

/// The events that a system delivers to an app's delegate, passed on to the links.
///
/// The router has all decisions of `HoldfastDelegate`, without a type of UIKit. What arrives before
/// the launch has ended waits for the links. Each completion handler is called exactly once.
@MainActor public final class LaunchRouter {
  /// The links of the app. The app sets them before its launch ends.
  public var links: HoldfastLinks? {
    didSet { if let runningApp { links?.supply(runningApp) } }
  }
  /// The source of scheduled tasks; `nil` if the app schedules none.
  public var wakes: (any WakeSource)?
  /// The identifier of the task that wakes the app regularly.
  public var task = HoldfastLinks.refreshTask
  /// The service that issued the token for pushes.
  public var pushEnvironment = APNsAddress.Environment.production
  /// The bundle id of the app; `nil` for the one that the backend is configured with.
  public var pushTopic: String?

  /// A closure that makes the parts of the running app, for links without them.
  var runningApp: (@MainActor () -> RunningApp)?
  private var early: [(cause: WakeCause, wake: Wake)] = []
  private var hasLaunched = false
  /// The time that a system grants for a push or for ended uploads, about 30 s, less the time in
  /// which the handler must be called.
  static let budget = Duration.seconds(28)

  /// Creates a router without links.
  public init() {}

  /// Ends the launch. The app has set the links, their parts and the wakes.
  ///
  /// The sync and the bottle of an earlier run continue.
  public func finishLaunching() {
    guard !hasLaunched else { return }
    hasLaunched = true
    defer { early = [] }
    guard let links else {
      for (_, wake) in early { wake.giveBack(.later) }
      return
    }
    links.resumeSync()
    links.resumeBottle()
    if let wakes { links.start(wakes: wakes, task: task) }
    for (cause, wake) in early { links.wake(cause, wake) }
  }

  /// Passes on a push without content.
  ///
  /// - Parameter done: A function that is called exactly once, on the main actor.
  public func receivePush(_ done: @escaping @MainActor (WakeResult) -> Void) {
    put(.push, "push", done)
  }

  /// Passes on the end of uploads of a background session. A session that is not that of the links'
  /// `parts.uploads` is answered at once.
  ///
  /// - Parameter done: A function that is called exactly once, on the main actor, after all ends
  ///   were delivered.
  public func uploadsEnded(
    session: String, _ done: @escaping @MainActor () -> Void
  ) {
    put(.uploads(session: session), "uploads") { _ in done() }
  }

  /// Registers the device for pushes. The system supplies the token at each launch.
  public func registered(deviceToken: some Sequence<UInt8>) {
    let digits = deviceToken.map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }
    guard let links else { return }
    guard
      let address = APNsAddress(
        token: digits.joined(), topic: pushTopic, environment: pushEnvironment)
    else {
      links.pushFailure = .local(detail: "the token for pushes or the topic is not valid")
      return
    }
    (links.pushFailure, links.pushAddress) = (nil, .apns(address))
    links.registerPush()
  }

  /// Records that the system supplied no token for pushes, in the links' `pushFailure`.
  public func registrationFailed(_ error: any Error) {
    links?.pushFailure = .local(
      detail: "the system supplied no token for pushes: \(error.localizedDescription)")
  }

  private func put(
    _ cause: WakeCause, _ name: String, _ done: @escaping @MainActor (WakeResult) -> Void
  ) {
    let wake = Wake(
      "Holdfast \(name)", budget: Self.budget, time: links?.backgroundTime ?? UnlimitedTime(),
      done: done)
    if let links, hasLaunched { return links.wake(cause, wake) }
    if hasLaunched { return wake.giveBack(.later) }
    early.append((cause, wake))
  }
}
