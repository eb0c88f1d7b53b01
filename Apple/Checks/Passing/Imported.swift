import BackgroundTasks
import Foundation
import HealthKit
import Security
import UIKit

// Expressions in which the importer and both halves of a module work together.
func stored(_ name: String) -> Data? {
  let query: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: name,
    kSecReturnData as String: true,
  ]
  var found: CFTypeRef?
  guard unsafe SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess else {
    return nil
  }
  return found as? Data
}

func submit(_ request: BGTaskRequest) -> Bool {
  do {
    try BGTaskScheduler.shared.submit(request)
    return true
  } catch let error as BGTaskScheduler.Error where error.code == .tooManyPendingTaskRequests {
    return false
  } catch {
    return error is BGTaskScheduler.Error
  }
}

@MainActor func observe(_ run: @escaping @Sendable () -> Void) -> any NSObjectProtocol {
  NotificationCenter.default.addObserver(
    forName: UIApplication.didEnterBackgroundNotification, object: nil, queue: nil
  ) { _ in run() }
}

func names(_ error: any Error) -> HKError.Code? { (error as? HKError)?.code }
