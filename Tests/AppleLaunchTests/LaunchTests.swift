@_spi(Script) import BackgroundSession
@_spi(Script) import BackgroundTasks
import Foundation
@_spi(Script) import HealthKit
import Holdfast
import HoldfastAppleApp
import HoldfastBottleLink
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing
@_spi(Script) import UIKit

@testable import HoldfastUI

/// Tests of launches through the app's delegate, with all adapters. Each test has its own phone.
///
/// Each test ends with the same checks: every completion handler was called exactly once and in
/// time, no callback was unanswered, nothing was misused, and no background time is left.
@MainActor @Suite(.timeLimit(.minutes(60)))
struct LaunchTests {
  private let phone: DevicePhone

  init() throws { phone = try DevicePhone() }

  // MARK: Bluetooth

  /// Connects a bottle in the foreground, and ends the app.
  private func connectOnce(keeping link: FakeDevice.Link) async throws {
    phone.launch(.active)
    let bottle = try phone.links.bottle()
    let screen = Task { await bottle.follow() }
    await change(of: bottle) { $0.status.adapter == .on }
    await phone.bottle.move()
    await change(of: bottle) { $0.status.phase == .connected }
    await phone.bottle.keep(link)
    try await phone.end()
    await screen.value
  }

  @Test(arguments: [FakeDevice.Link.connected, .pending])
  func `a launch for a restored connection connects the bottle again`(
    link: FakeDevice.Link
  ) async throws {
    try await connectOnce(keeping: link)
    phone.launch(.background, [.bluetoothCentrals: [DevicePhone.radio]])
    #expect(try Set(phone.links.models.keys) == ["bottle"], "the launch has opened the bottle")
    let bottle = try phone.links.bottle()
    let screen = Task { await bottle.follow() }
    await change(of: bottle) { $0.phase == .open }
    if link == .pending { await phone.bottle.move() }
    await change(of: bottle) { $0.status.phase == .connected }
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }

  @Test func `a launch for anything else opens the bottle, because its connection may come later`()
    async throws
  {
    try await connectOnce(keeping: .pending)
    phone.launch()
    #expect(try Set(phone.links.models.keys) == ["bottle"])
    let bottle = try phone.links.bottle()
    let screen = Task { await bottle.follow() }
    await change(of: bottle) { $0.phase == .open }
    // The system tells the running app, without another launch.
    await phone.bottle.move()
    await change(of: bottle) { $0.status.phase == .connected }
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }

  @Test func `a launch opens no bottle that was never used, or whose user has signed out`()
    async throws
  {
    phone.launch()
    #expect(try phone.links.models.isEmpty)
    try await phone.end()
    try await connectOnce(keeping: .none)
    phone.launch(.active)
    try await phone.links.signOut()
    try await phone.end()
    phone.launch(.background, [.bluetoothCentrals: [DevicePhone.radio]])
    #expect(try phone.links.models.isEmpty)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a restored connection waits until the drinks can be opened`() async throws {
    try await connectOnce(keeping: .connected)
    let other = try await HoldfastPlatform.drinkStore(in: phone.scratch("bottle"))
    phone.lock(true)
    phone.launch(.background, [.bluetoothCentrals: [DevicePhone.radio]])
    let bottle = try phone.links.bottle()
    let screen = Task { await bottle.follow() }
    await change(of: bottle) { $0.phase.error != nil }
    await other.close()
    phone.lock(false)
    await change(of: bottle) { $0.status.phase == .connected }
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }

  // MARK: Uploads and health data

  /// Syncs in the foreground once, so that later launches continue.
  private func syncOnce() async throws {
    phone.launch(.active)
    let sync = try phone.links.healthSync()
    try await sync.refresh()
    try await phone.end()
  }

  /// Leaves one upload to the system, and ends the app.
  private func leaveUpload() async throws -> Transfer {
    phone.daemon.answer { _ in nil }
    try phone.walk()
    try await syncOnce()
    return try #require(phone.running.first)
  }

  @Test func `an upload wake before the sync is open is given back after its ends`()
    async throws
  {
    let transfer = try await leaveUpload()
    phone.daemon.end(transfer, .answer(200))
    phone.launch()
    let sync = try phone.links.healthSync()
    #expect(sync.phase == .opening)
    let handler = phone.application.deliverEvents(ofSession: DevicePhone.uploads)
    phone.daemon.finishEvents(of: DevicePhone.uploads)
    await phone.settle()
    #expect(handler.results == ["done"])
    #expect(phone.running.isEmpty)
    let screen = Task { await sync.follow() }
    await change(of: sync) { $0.types.first?.report.synced == 1 && $0.isComplete }
    #expect(phone.daemon.requests.count == 1, "nothing is uploaded twice")
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }

  @Test func `events that come before the launch ends wait for the links`() async throws {
    let transfer = try await leaveUpload()
    phone.daemon.end(transfer, .answer(200))
    var handlers: [ScriptedHandler] = []
    phone.launch {
      handlers = [$0.deliverEvents(ofSession: DevicePhone.uploads), $0.deliverPush()]
    }
    phone.daemon.finishEvents(of: DevicePhone.uploads)
    await phone.settle()
    #expect(handlers.map(\.results) == [["done"], ["newData"]])
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `an upload wake whose system never finishes ends with its time`() async throws {
    _ = try await leaveUpload()
    phone.launch()
    let handler = phone.application.deliverEvents(ofSession: DevicePhone.uploads)
    let sync = try phone.links.healthSync()
    await change(of: sync) { $0.phase == .open }
    #expect(phone.application.openTasks == ["Holdfast uploads"])
    phone.application.expireTasks()
    await phone.settle()
    #expect(handler.results == ["done"])
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `events of another session are answered at once`() async throws {
    _ = try await leaveUpload()
    phone.launch()
    let foreign = phone.application.deliverEvents(ofSession: "com.example.downloads")
    #expect(foreign.results == ["done"])
    let own = phone.application.deliverEvents(ofSession: DevicePhone.uploads)
    let sync = try phone.links.healthSync()
    await change(of: sync) { $0.phase == .open }
    #expect(own.results == [])
    phone.daemon.finishEvents(of: DevicePhone.uploads)
    await phone.settle()
    #expect(own.results == ["done"])
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `observers outlive a sync that cannot be opened, and are answered`() async throws {
    try await syncOnce()
    let other = try await HoldfastPlatform.syncQueue(in: phone.scratch("sync"))
    phone.launch()
    let sync = try phone.links.healthSync()
    await change(of: sync) { $0.phase.error != nil }
    #expect(phone.health.observed == [DevicePhone.steps])
    let before = phone.health.handlers.called
    try phone.walk()
    while phone.health.handlers.called == before { await Task.yield() }
    await phone.settle()
    await other.close()
    sync.retry()
    await phone.hasUploads(1)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a launch continues with the types that a screen has chosen`() async throws {
    phone.types = nil
    phone.launch(.active)
    let sync = try phone.links.healthSync(types: [DevicePhone.steps])
    try await sync.refresh()
    try await phone.end()
    phone.launch()
    let next = try phone.links.healthSync()
    await change(of: next) { $0.phase == .open }
    try await next.refresh()
    #expect(phone.health.observed == [DevicePhone.steps])
    // What the app sets in the launch has precedence.
    phone.types = [DevicePhone.steps, DevicePhone.heartRate]
    try await phone.end()
    phone.launch()
    try await phone.links.healthSync().refresh()
    #expect(Set(phone.health.observed) == [DevicePhone.steps, DevicePhone.heartRate])
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a launch that reads the phone's identifier begins no sync`() async throws {
    phone.onLaunch = { _ = $0.syncDeviceID }
    phone.launch()
    #expect(try phone.links.syncDeviceID == nil)
    #expect(try phone.links.models.isEmpty)
    try await phone.links.healthSync().refresh()
    let first = try phone.links.syncDeviceID
    #expect(first != nil)
    try await phone.end()
    phone.launch()
    #expect(try phone.links.syncDeviceID == first)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a locked launch answers the observer, and syncs after the first unlock`() async throws
  {
    try await syncOnce()
    try phone.walk()
    try phone.pairing.write(Secret("resume-token"))
    let other = try await HoldfastPlatform.syncQueue(in: phone.scratch("sync"))
    phone.lock(true)
    let before = phone.health.handlers.called
    phone.launch()
    #expect(phone.health.observed == [DevicePhone.steps], "the launch observes before it ends")
    #expect(phone.health.deliveries == [DevicePhone.steps: .immediate])
    let sync = try phone.links.healthSync()
    await change(of: sync) { $0.phase.error != nil }
    await phone.settle()
    #expect(phone.health.handlers.called > before, "the observer is answered while locked")
    // Wakes while the device is locked are answered, too.
    let handlers = [
      phone.application.deliverPush(),
      phone.application.deliverEvents(ofSession: DevicePhone.uploads),
    ]
    await phone.settle()
    #expect(handlers.map(\.results) == [["failed"], ["done"]])

    await other.close()
    phone.lock(false)
    await change(of: sync) { $0.phase == .open }
    await phone.hasUploads(1)
    let screen = Task { await sync.follow() }
    await change(of: sync) { $0.types.first?.report.synced == 1 }
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }

  @Test func `samples that appear while the app is dead are uploaded by a launch`() async throws {
    try await syncOnce()
    try phone.walk()
    phone.launch()
    await phone.hasUploads(1)
    await phone.settle()
    #expect(try phone.links.ports.lifecycle.present().last == .background)
    #expect(phone.application.applicationState == .background)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a sign-out ends what the system does for the user, also in the next launch`()
    async throws
  {
    _ = try await leaveUpload()
    try phone.pairing.write(Secret("resume-token"))
    phone.launch(.active)
    let sync = try phone.links.healthSync()
    await change(of: sync) { $0.phase == .open }
    try await phone.links.signOut()
    while !phone.running.isEmpty { await Task.yield() }
    #expect(phone.health.deliveries == [:])
    #expect(phone.health.observed == [])
    #expect(try phone.pairing.read() == nil)
    try await phone.end()

    try phone.walk()
    phone.launch()
    let handler = phone.application.deliverEvents(ofSession: DevicePhone.uploads)
    let task = phone.scheduler.launch(HoldfastLinks.refreshTask)
    await phone.settle()
    while task.completions.withLock(\.isEmpty) { await Task.yield() }
    #expect(phone.scheduler.pending == [])
    #expect(handler.results == ["done"])
    #expect(try phone.links.models.isEmpty)
    #expect(phone.daemon.requests.count == 1, "only the upload that was cancelled")
    try await phone.end()
    await phone.expectNoMisuse()
  }

  // MARK: Scheduled tasks

  @Test func `a task is scheduled by each launch, done, and scheduled again`() async throws {
    try await syncOnce()
    phone.launch()
    #expect(phone.scheduler.pending == ["refresh holdfast.refresh"])
    #expect(phone.scheduler.advance(by: 3_590).isEmpty)
    let task = try #require(phone.scheduler.advance(by: 3_700).first)
    while task.completions.withLock(\.isEmpty) { await Task.yield() }
    #expect(task.completions.withLock(\.self) == [true])
    #expect(phone.scheduler.pending == ["refresh holdfast.refresh"])
    #expect(try phone.links.wakeFailure == nil)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a task is scheduled only while a feature has work for it`() async throws {
    phone.launch()
    #expect(phone.scheduler.pending == [])
    let sync = try phone.links.healthSync()
    await change(of: sync) { $0.phase == .open }
    #expect(phone.scheduler.pending == ["refresh holdfast.refresh"])
    try await phone.links.signOut()
    #expect(phone.scheduler.pending == [])
    let bottle = try phone.links.bottle()
    await change(of: bottle) { $0.phase == .open }
    #expect(phone.scheduler.pending == ["refresh holdfast.refresh"])
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a task that expires is completed at its expiry, once`() async throws {
    try await syncOnce()
    // The server does not answer, so that the sync is at work until the time is over.
    phone.network.serve(requests: nil)
    try phone.walk()
    phone.launch()
    let task = phone.scheduler.launch(HoldfastLinks.refreshTask)
    _ = try await phone.network.nextExchange()
    phone.scheduler.expire(task)
    #expect(task.completions.withLock(\.self) == [false])
    phone.scheduler.expire(task)
    try await phone.end()
    #expect(task.completions.withLock(\.self) == [false])
    await phone.expectNoMisuse()
  }

  @Test func `a task while the sync cannot be opened is completed as failed`() async throws {
    try await syncOnce()
    let other = try await HoldfastPlatform.syncQueue(in: phone.scratch("sync"))
    phone.launch()
    let task = phone.scheduler.launch(HoldfastLinks.refreshTask)
    while task.completions.withLock(\.isEmpty) { await Task.yield() }
    #expect(task.completions.withLock(\.self) == [false])
    await other.close()
    try await phone.end()
    await phone.expectNoMisuse()
  }

  // MARK: Pushes

  @Test func `a silent push without a pairing is answered at once`() async throws {
    phone.launch()
    let handler = phone.application.deliverPush()
    await phone.settle()
    #expect(handler.results == ["newData"])
    #expect(try phone.links.models.isEmpty)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a silent push with a pairing asks the server for questions`() async throws {
    try phone.pairing.write(Secret("resume-token"))
    phone.network.serve(requests: nil)
    phone.launch()
    let handler = phone.application.deliverPush()
    let exchange = try await phone.network.nextExchange()
    #expect(exchange.request.headers.contains { $0.value == "Bearer resume-token" })
    #expect(phone.application.openTasks == ["Holdfast push"])
    exchange.respond(status: 401)
    await phone.settle()
    #expect(handler.results.count == 1)

    let late = phone.application.deliverPush()
    _ = try await phone.network.nextExchange()
    phone.application.expireTasks()
    // The system may end the app as soon as the expiration handler has returned.
    #expect(late.results == ["failed"])
    #expect(phone.application.openTasks == [])
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `the token for pushes, or the lack of one, reaches the links`() async throws {
    phone.launch()
    phone.application.deliverToken(.failure(CocoaError(.featureUnsupported)))
    #expect(try phone.links.pushFailure != nil)
    phone.application.deliverToken(.success(Data([0xAB, 0x01])))
    #expect(try phone.links.pushAddress != nil)
    #expect(try phone.links.pushFailure == nil)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  // MARK: The lifecycle

  @Test func `the delegate supplies the lifecycle and background time to links without them`()
    async throws
  {
    let center = NotificationCenter()
    let application = UIApplication(.background, center: center)
    let app = PlainApp(center)
    let scratch = phone.scratch
    app.make = {
      HoldfastLinks(
        server: DevicePhone.server, directory: URL(filePath: scratch.path),
        ports: DevicePorts(network: FakeNetwork(clock: BootClock()))
      ) { "token" }
    }
    application.launch(app)
    let links = try #require(app.router.links)
    #expect(links.backgroundTime is AppBackgroundTime)
    #expect(links.ports.lifecycle.present().last == .background)
    application.enterForeground()
    #expect(links.ports.lifecycle.present().last == .foreground)
    let shop = links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    await change(of: shop) { $0.phase == .open }
    application.enterBackground()
    await change(of: shop) { $0.connection.reason == .background }
    await shop.close()
    await screen.value
    while !application.openTasks.isEmpty { await Task.yield() }
    #expect(application.takeLaunchMisuses() == [])
  }

  @Test func `links with a lifecycle and background time keep them`() async throws {
    phone.launch()
    let links = try phone.links
    let monitor = try #require(links.ports.lifecycle as? ApplicationLifecycle)
    var isAsked = false
    links.supply {
      isAsked = true
      return RunningApp(lifecycle: FakeLifecycle(), time: UnlimitedTime())
    }
    #expect(!isAsked)
    #expect(links.ports.lifecycle as? ApplicationLifecycle === monitor)
    try await phone.end()
    await phone.expectNoMisuse()
  }

  @Test func `a launch in the background connects nothing until the user opens the app`()
    async throws
  {
    phone.launch()
    #expect(try phone.links.ports.lifecycle.present().last == .background)
    let shop = try phone.links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    await change(of: shop) { $0.connection.reason == .background }
    #expect(phone.network.sockets.count == 0)
    phone.application.enterForeground()
    await change(of: shop) { $0.connection.reason != .background }
    _ = try await phone.network.nextSocket()
    // On the way to the background, the time lasts until the link is closed.
    phone.application.enterBackground()
    await change(of: shop) { $0.connection.reason == .background }
    await phone.settle()
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }

  @Test func `time that the background does not get, or that expires, is not kept`() async throws {
    phone.launch(.active)
    let shop = try phone.links.shop(try #require(ShopID("bakery")))
    let screen = Task { await shop.follow() }
    await change(of: shop) { $0.phase == .open }
    phone.application.setGranting(false)
    phone.application.enterBackground()
    phone.application.enterForeground()
    phone.application.setGranting(true)
    phone.application.enterBackground()
    phone.application.expireTasks()
    #expect(phone.application.openTasks == [])
    phone.application.enterForeground()
    try await phone.end()
    await screen.value
    await phone.expectNoMisuse()
  }
}

/// The delegate of an app whose links have no lifecycle monitor of their own.
private final class PlainApp: HoldfastDelegate {
  var make: (() -> HoldfastLinks)?

  init(_ center: NotificationCenter) {
    super.init()
    self.center = center
  }

  override func launched() { router.links = make?() }
}
