@_spi(Script) import BackgroundSession
import Foundation
@_spi(Script) import HealthKit
import Holdfast
import HoldfastAppleApp
import HoldfastBackgroundUploads
import HoldfastCore
import HoldfastHealthKit
import HoldfastPorts
import HoldfastSocket
import HoldfastTestKit
import HoldfastUI
import Synchronization
import Testing
@_spi(Script) import UIKit

/// A test of the whole way of samples, from HealthKit to the server, in an app that nobody opens.
@MainActor @Suite(.timeLimit(.minutes(60)))
struct SyncEndToEndTests {
  @Test func `samples reach the server while the app is dead, and it never comes to the front`()
    async throws
  {
    try await SyncServer.run(users: 1) { server in
      let phone = try SyncPhone(server, user: 0, http: try HoldfastPlatform.network())
      let gate = SyncLimbo()
      phone.send { _, moment in
        if moment == .request { await gate.wait() }
        return false
      }
      let launches = Mailbox<String>()
      phone.daemon.launch { launches.put($0) }

      // The user opens the app once, as after an installation.
      let first = SyncApp(phone, .active)
      try await first.links.healthSync().refresh()
      await first.kill()

      // Samples appear while the app is dead, and HealthKit lets the system launch it.
      for number in 1...3 { phone.add(number) }
      try await handOver(SyncApp(phone, .background), phone)

      // The daemon sends without the app, and lets the system launch it for the ends.
      #expect(try await server.held() == [:])
      gate.end()
      #expect(await launches.next() == SyncPhone.session)
      #expect(try await server.held() == [SyncServer.name(of: 0): [1, 2, 3]])
      try await finish(SyncApp(phone, .background), phone)

      #expect(phone.mostReceived == 1)
      #expect(try await server.held() == [SyncServer.name(of: 0): [1, 2, 3]])
      #expect(phone.daemon.takeMisuses() == [])
      #expect(try phone.filesWithSecret() == [])
    }
  }

  /// Lets an app that was launched for new samples hand them over to the daemon, and kills it.
  private func handOver(_ app: SyncApp, _ phone: SyncPhone) async throws {
    #expect(app.health.observed == [SyncPhone.steps], "observed before the launch has ended")
    #expect(app.health.deliveries == [SyncPhone.steps: .immediate])
    while phone.daemon.requests.isEmpty || app.health.handlers.open > 0 { await Task.yield() }
    #expect(app.health.handlers.called > 0)
    await app.check()
    await app.kill()
  }

  /// Lets an app that was launched for the ends of uploads receive them, and kills it.
  private func finish(_ app: SyncApp, _ phone: SyncPhone) async throws {
    let handler = app.application.deliverEvents(ofSession: SyncPhone.session)
    phone.daemon.finishEvents(of: SyncPhone.session)
    while handler.results.isEmpty || app.health.handlers.open > 0 { await Task.yield() }
    #expect(app.waitingFiles == [])
    #expect(phone.daemon.transfers(of: SyncPhone.session).isEmpty)
    try await app.links.healthSync().refresh()
    await app.check()
    #expect(handler.results == ["done"])
    await app.kill()
  }
}

/// One process of an app whose delegate is a `HoldfastDelegate`.
@MainActor private final class SyncApp {
  let application: UIApplication
  let health: ScriptedHealth
  let links: HoldfastLinks
  private let phone: SyncPhone
  private let process: AppProcess
  private let delegate = SyncDelegate()
  private let lifecycle: ApplicationLifecycle

  /// Launches the app.
  init(_ phone: SyncPhone, _ state: UIApplication.State) {
    self.phone = phone
    let process = AppProcess(phone.daemon)
    let center = NotificationCenter()
    application = UIApplication(state, center: center)
    health = phone.newHealth()
    let time = AppBackgroundTime(application)
    lifecycle = ApplicationLifecycle(application, time: time, center: center)
    self.process = process
    links = HoldfastLinks(
      server: URL(string: phone.server.url) ?? URL(filePath: "/"),
      directory: URL(filePath: phone.scratch.path),
      ports: DevicePorts(reachability: FakeReachability(), lifecycle: lifecycle),
      backgroundTime: time
    ) { phone.secret }
    delegate.parts = { [links, health] in
      links.parts.types = [SyncPhone.steps]
      links.parts.samples = HealthKitSource(HKHealthStore(health))
      links.parts.uploads = process.run {
        BackgroundUploads(
          identifier: SyncPhone.session, phone.target(in: phone.scratch("sync")))
      }
      return links
    }
    application.launch(delegate)
  }

  /// The files of batches that have not left the queue.
  var waitingFiles: [String] {
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: phone.scratch("sync/health-sync"))
    return names ?? []
  }

  /// Checks that each handler was called once, and that the app stayed in the background.
  func check() async {
    // The handler of a task is called on the main actor before the time of the task ends.
    while !application.openTasks.isEmpty { await Task.yield() }
    #expect(application.takeLaunchMisuses() == [])
    #expect(application.applicationState == .background)
    #expect(lifecycle.present().last == .background)
    #expect(health.misuses == [])
  }

  /// Kills the process when it has nothing to do. Its objects only release its files.
  func kill() async {
    phone.kill(process)
    await links.healthSync().close()
  }
}

/// The delegate of the app, which makes the parts of the device in the launch.
@MainActor private final class SyncDelegate: HoldfastDelegate {
  var parts: (() -> HoldfastLinks)?

  override func launched() { router.links = parts?() }
}
