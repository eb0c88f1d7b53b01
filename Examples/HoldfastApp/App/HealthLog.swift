import HoldfastAppleApp
import HoldfastHealthKit

/// The lines in the system's log that show whether HealthKit wakes the app.
enum HealthLog {
  private static let log = SystemLog(subsystem: "com.example.holdfast", category: "health")

  /// Writes the line for an event.
  static func write(_ event: HealthKitEvent) {
    switch event {
    case .delivered(let type): log.write("Background delivery enabled", detail: type)
    case .undelivered(let type, let reason):
      log.write("Background delivery refused", detail: "\(type): \(reason)", level: .failure)
    case .fired(let type): log.write("Observer triggered", detail: type)
    case .failed(let type, let reason):
      log.write("Observer failed", detail: "\(type): \(reason)", level: .failure)
    }
  }
}
