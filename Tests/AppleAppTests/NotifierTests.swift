import Foundation
import HoldfastAppleApp
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing
@_spi(Script) import UserNotifications

/// Tests of the notifier of Apple's platforms.
@Suite(.timeLimit(.minutes(60))) struct NotifierTests {
  private static let ending = HostNotification(
    title: "New assistant", body: "Claude can ask.",
    action: HostNotification.Action(name: "end.a", title: "End access"))

  @Test func `a notification with an action has a button, beside the app's own`() async throws {
    let center = UNUserNotificationCenter()
    center.setNotificationCategories([
      UNNotificationCategory(identifier: "of the app", actions: [], intentIdentifiers: [])
    ])
    await center.use {
      let notifier = LocalNotifier { _ in }
      #expect(await notifier.show(Self.ending))
      #expect(await notifier.show(Self.ending), "a second time it replaces the first one")
    }
    let request = try #require(center.shown["end.a"])
    #expect(center.shown.count == 1)
    #expect(request.content.title == "New assistant")
    #expect(request.content.body == "Claude can ask.")
    #expect(center.asked.first == [.alert, .sound])
    #expect(center.categories.count == 2)
    let category = try #require(
      center.categories.first { $0.identifier == request.content.categoryIdentifier })
    #expect(category.actions.map(\.title) == ["End access"])
  }

  @Test func `a notification without an action replaces the last one, and is removed`() async {
    let center = UNUserNotificationCenter()
    await center.use {
      let notifier = LocalNotifier { _ in }
      #expect(await notifier.show(HostNotification(title: "one", body: "")))
      #expect(await notifier.show(HostNotification(title: "two", body: "")))
      #expect(await notifier.show(Self.ending))
      #expect(center.shown.values.map(\.content.title).sorted() == ["New assistant", "two"])
      await notifier.remove()
      await notifier.remove()
      #expect(Array(center.shown.keys) == ["end.a"])
    }
  }

  @Test func `a notification that is not allowed or not taken is not shown`() async {
    let center = UNUserNotificationCenter()
    await center.use {
      let notifier = LocalNotifier { _ in }
      center.isAllowed = false
      #expect(await !notifier.show(Self.ending))
      center.isAllowed = true
      center.isFull = true
      #expect(await !notifier.show(Self.ending))
    }
    #expect(center.shown.isEmpty)
  }

  @Test func `the name of a chosen action is passed on, and each call is answered once`()
    async throws
  {
    let center = UNUserNotificationCenter()
    let (taken, answers) = (Mailbox<String>(), Mailbox<Int>())
    try await center.use {
      let notifier = LocalNotifier { taken.put($0) }
      #expect(center.delegate === notifier)
      #expect(await notifier.show(Self.ending))
      let request = try #require(center.shown["end.a"])
      let category = try #require(center.categories.first)
      let button = try #require(category.actions.first)
      for action in ["com.apple.UNNotificationDefaultActionIdentifier", button.identifier] {
        notifier.userNotificationCenter(
          center, didReceive: UNNotificationResponse(UNNotification(request), action)
        ) { answers.put(1) }
        #expect(await answers.next() == 1)
      }
      #expect(await taken.next() == "end.a")
      #expect(taken.count == 0)
      let shown = Mutex<UNNotificationPresentationOptions>([])
      notifier.userNotificationCenter(center, willPresent: UNNotification(request)) { options in
        shown.withLock { $0 = options }
      }
      #expect(shown.withLock { $0 } == [.banner, .list, .sound])
    }
  }
}
