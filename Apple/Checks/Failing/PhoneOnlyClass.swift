// fails on watchos: 'UIApplication' is unavailable in watchOS
import UIKit

@MainActor func isInBackground(_ application: UIApplication) -> Bool {
  application.applicationState == .background
}
