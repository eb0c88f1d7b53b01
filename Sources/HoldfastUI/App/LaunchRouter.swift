import Holdfast
public import HoldfastCore
public import HoldfastPorts
public import HoldfastWire

/// The events that a system delivers to an app's delegate, passed on to the links.
///
/// The router has all decisions of `HoldfastDelegate`, without a type of UIKit. What arrives before
/// the launch has ended waits for the links. Each completion handler is called exactly once.
@MainActor public final class LaunchRouter {
  /// The links of the app. The app sets them before its launch ends.
  public var links: HoldfastLinks?
  /// The source of scheduled tasks; `nil` if the app schedules none.
  public var wakes: (any WakeSource)?
  /// The identifier of the task that wakes the app regularly.
  public var task = HoldfastLinks.refreshTask
  /// The service that issued the token for pushes.
  public var pushEnvironment = APNsAddress.Environment.production
  /// The bundle id of the app; `nil` for the one that the backend is configured with.
  public var pushTopic: String?

  private var early: [(cause: WakeCause, wake: Wake)] = []
  private var hasLaunched = false
  /// The time that a system grants for a push or for ended uploads, about 30 s, less the time in
  /// which the handler must be called.
  static let budget = Duration.seconds(28)

  /// Creates a router without links.
  public init() {}

  /// Ends the launch. The app has set the links, their parts and the wakes.
  ///
  /// - Parameter restoresBluetooth: Whether the system has launched the app for a restored
  ///   connection.
  public func finishLaunching(restoresBluetooth: Bool = false) {
    guard !hasLaunched else { return }
    hasLaunched = true
    defer { early = [] }
    guard let links else {
      for (_, wake) in early { wake.giveBack(.later) }
      return
    }
    links.prepareSync()
    if let wakes { links.start(wakes: wakes, task: task) }
    if restoresBluetooth { links.restoreBottle() }
    for (cause, wake) in early { links.wake(cause, wake) }
  }

  /// Passes on a push without content.
  ///
  /// - Parameter done: A function that is called exactly once, on the main actor.
  public func receivePush(_ done: @escaping @MainActor (WakeResult) -> Void) {
    put(.push, done)
  }

  /// Passes on the end of uploads of a background session.
  ///
  /// - Parameter done: A function that is called exactly once, on the main actor, after all ends
  ///   were delivered.
  public func uploadsEnded(
    session: String, _ done: @escaping @MainActor () -> Void
  ) {
    put(.uploads(session: session)) { _ in done() }
  }

  /// Registers the device for pushes. The system supplies the token at each launch.
  public func registered(deviceToken: some Sequence<UInt8>) {
    let digits = deviceToken.map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }
    let address = APNsAddress(
      token: digits.joined(), topic: pushTopic, environment: pushEnvironment)
    guard let links, let address else { return }
    links.pushAddress = .apns(address)
    links.registerPush()
  }

  private func put(_ cause: WakeCause, _ done: @escaping @MainActor (WakeResult) -> Void) {
    let wake = Wake(budget: Self.budget) { result in
      Task { @MainActor in done(result) }
    }
    if let links, hasLaunched { return links.wake(cause, wake) }
    if hasLaunched { return wake.giveBack(.later) }
    early.append((cause, wake))
  }
}
