#if canImport(UserNotifications) && !os(tvOS)
  import Foundation
  public import HoldfastPorts
  public import UserNotifications

  /// A notifier of this device, whose notifications can have a button.
  ///
  ///     links.parts.notifier = LocalNotifier { await links.take(notificationAction: $0) }
  ///
  /// Each launch of the app makes it before the launch ends, because the system may have launched the
  /// app for a button. It is the delegate of the notification center. An app with a delegate of its
  /// own makes the notifier first, and passes on the calls of its delegate.
  ///
  /// The first notification asks the user for permission.
  public final class LocalNotifier: NSObject, Notifier {
    /// The identifier of a notification without a button, of which there is one at a time.
    private static let ongoing = "holdfast"
    /// The identifier of the button, and the beginning of that of its category.
    private static let action = "holdfast.action"

    private let take: @Sendable (String) async -> Void

    /// Creates a notifier.
    ///
    /// - Parameter take: A closure that is called with the name of an action when the user has chosen
    ///   it.
    public init(_ take: @escaping @Sendable (String) async -> Void) {
      self.take = take
      super.init()
      UNUserNotificationCenter.current().delegate = self
    }

    public func show(_ notification: HostNotification) async -> Bool {
      guard await isAllowed() else { return false }
      let content = UNMutableNotificationContent()
      (content.title, content.body) = (notification.title, notification.body)
      if let action = notification.action {
        content.categoryIdentifier = await category(action.title)
      }
      let request = UNNotificationRequest(
        identifier: notification.action?.name ?? Self.ongoing, content: content, trigger: nil)
      return await withCheckedContinuation { done in
        UNUserNotificationCenter.current().add(request) { done.resume(returning: $0 == nil) }
      }
    }

    public func remove() async {
      UNUserNotificationCenter.current().removeDeliveredNotifications(
        withIdentifiers: [Self.ongoing])
    }

    private func isAllowed() async -> Bool {
      await withCheckedContinuation { done in
        UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .sound]) {
          isAllowed, _ in done.resume(returning: isAllowed)
        }
      }
    }

    /// Returns the identifier of a category whose button has a title, beside the app's categories.
    private func category(_ title: String) async -> String {
      let identifier = Self.action + "." + title
      await withCheckedContinuation { done in
        UNUserNotificationCenter.current().getNotificationCategories { others in
          let button = UNNotificationAction(
            identifier: Self.action, title: title, options: [.destructive])
          let own = UNNotificationCategory(
            identifier: identifier, actions: [button], intentIdentifiers: [])
          let kept = others.filter { $0.identifier != identifier }
          UNUserNotificationCenter.current().setNotificationCategories(kept.union([own]))
          done.resume()
        }
      }
      return identifier
    }
  }

  extension LocalNotifier: UNUserNotificationCenterDelegate {
    /// Shows a notification also while the app is in the foreground.
    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
      withCompletionHandler completionHandler:
        @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) { completionHandler([.banner, .list, .sound]) }

    /// Passes on the name of an action that the user has chosen.
    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping @Sendable () -> Void
    ) {
      guard response.actionIdentifier == Self.action else { return completionHandler() }
      let name = response.notification.request.identifier
      // The system takes the call on the main thread only.
      Task { @MainActor [take] in
        await take(name)
        completionHandler()
      }
    }
  }
#endif
