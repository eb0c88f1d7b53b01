// passes on macos
import AppKit
import CoreBluetooth
import HealthKit

@MainActor func observe(_ run: @escaping @Sendable () -> Void) -> [any NSObjectProtocol] {
  [
    NotificationCenter.default.addObserver(
      forName: NSApplication.willTerminateNotification, object: nil, queue: nil
    ) { _ in run() },
    NSWorkspace.shared.notificationCenter.addObserver(
      forName: NSWorkspace.willSleepNotification, object: nil, queue: nil
    ) { _ in run() },
  ]
}

// On a Mac the framework exists, and has no data.
func hasHealthData() -> Bool { HKHealthStore.isHealthDataAvailable() }

func reconnects() -> [String: Any] { [CBConnectPeripheralOptionEnableAutoReconnect: true] }
