// The parts of Foundation's ProcessInfo that exist on Apple's phones only.
public import Foundation
import Synchronization

extension NSNotification.Name {
  public static let NSProcessInfoPowerStateDidChange = NSNotification.Name(
    "NSProcessInfoPowerStateDidChangeNotification")
}

extension ProcessInfo {
  public var isLowPowerModeEnabled: Bool { script.withLock(\.isLowPower) }

  /// Runs a block on another thread; the activity lasts until the block returns. The block runs a
  /// second time with `true` if the time ends before.
  public func performExpiringActivity(
    withReason reason: String, using block: @escaping @Sendable (Bool) -> Void
  ) {
    let (number, isGranted) = script.withLock { script in
      script.last += 1
      if script.isGranting { script.activities[script.last] = block }
      return (script.last, script.isGranting)
    }
    DispatchQueue.global().async {
      block(!isGranted)
      script.withLock { $0.activities[number] = nil }
    }
  }
}

private struct Script: Sendable {
  var isLowPower = false
  var isGranting = true
  var last = 0
  var activities: [Int: @Sendable (Bool) -> Void] = [:]
}

private let script = Mutex(Script())

/// The script's side of the process. There is one process, so its tests are serialized.
@_spi(Script) public enum ScriptedProcess {
  /// Turns Low Power Mode on or off. Apple posts the notification on a thread of its own.
  public static func setLowPower(_ isOn: Bool, center: NotificationCenter) {
    script.withLock { $0.isLowPower = isOn }
    center.post(name: .NSProcessInfoPowerStateDidChange, object: nil)
  }

  public static func setGranting(_ isGranting: Bool) {
    script.withLock { $0.isGranting = isGranting }
  }

  /// The number of activities whose block has not returned.
  public static var running: Int { script.withLock(\.activities.count) }

  /// Ends the time of all activities.
  public static func expire() {
    for block in script.withLock({ $0.activities.values }) { block(true) }
  }
}
