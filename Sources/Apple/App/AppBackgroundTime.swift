#if canImport(UIKit)
  import Dispatch
  import Foundation
  public import HoldfastPorts
  #if !os(watchOS)
    public import UIKit
  #endif

  #if !os(watchOS)
    /// Background time that `UIApplication` grants, usually some 30 seconds.
    ///
    /// The app passes its application, because an extension has none.
    public struct AppBackgroundTime: BackgroundTime {
      private let application: UIApplication

      /// Creates background time of an application.
      public init(_ application: UIApplication) { self.application = application }

      public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant? {
        let expiry = Expiry()
        expiry.onExpiry(expired)
        let task = application.beginBackgroundTask(withName: name) { expiry.expire() }
        guard task != .invalid else { return nil }
        return TimeGrant { [application] in
          expiry.drop()
          application.endBackgroundTask(task)
        }
      }
    }
  #endif

  /// Background time that `ProcessInfo` grants where there is no application: in extensions, and on
  /// a watch.
  ///
  /// Each grant uses a thread of the system until it is given back. The system refuses time after
  /// `begin` has returned, so a refused grant expires at once.
  public struct ExpiringActivityTime: BackgroundTime {
    /// Creates background time of this process.
    public init() {}

    public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> TimeGrant? {
      let expiry = Expiry()
      expiry.onExpiry(expired)
      let end = DispatchSemaphore(value: 0)
      ProcessInfo.processInfo.performExpiringActivity(withReason: name) { hasExpired in
        // The activity lasts until the block of its start returns.
        if hasExpired { expiry.expire() } else { end.wait() }
      }
      return TimeGrant {
        expiry.drop()
        end.signal()
      }
    }
  }
#endif
