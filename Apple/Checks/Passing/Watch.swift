// passes on watchos, watchos-device
import CoreBluetooth
import HealthKit
import WatchKit

@MainActor func observe(_ run: @escaping @Sendable () -> Void) -> any NSObjectProtocol {
  NotificationCenter.default.addObserver(
    forName: WKApplication.didEnterBackgroundNotification, object: nil, queue: nil
  ) { _ in run() }
}

@MainActor func isInBackground() -> Bool {
  WKApplication.shared().applicationState == .background
}

func reconnects() -> [String: Any] { [CBConnectPeripheralOptionEnableAutoReconnect: true] }

func deliver(_ store: HKHealthStore, _ type: HKQuantityType) {
  store.enableBackgroundDelivery(for: type, frequency: .immediate) { _, _ in }
}
