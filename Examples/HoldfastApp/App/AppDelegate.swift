import HealthKit
import HoldfastAppleApp
import HoldfastBluetooth
import HoldfastHealthKit
import HoldfastUI
import UIKit

/// Makes the parts of the device before a launch ends, because the system delivers to them what it
/// started the app for: a connected bottle, changed health data, ended uploads, a push or a task.
final class AppDelegate: HoldfastDelegate {
  override func launched() {
    let health = HKHealthStore()
    Links.main.parts.radio = CoreBluetoothCentral(restoration: Links.Name.radio)
    Links.main.parts.samples = HealthKitSource(health, events: HealthLog.write)
    Links.main.parts.health = HealthKitReading(health)
    Links.main.parts.questionTypes = HealthKitTypes.usual
    Links.main.parts.notifier = LocalNotifier { await Links.main.take(notificationAction: $0) }
    Links.main.parts.uploads = Links.uploads()
    router.links = Links.main
    router.wakes = SystemWakes(tasks: [router.task])
    router.pushEnvironment = .sandbox  // as long as aps-environment is "development"
    runningApplication?.registerForRemoteNotifications()
  }
}
