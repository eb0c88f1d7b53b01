@_spi(Script) import BackgroundSession
@_spi(Script) import BackgroundTasks
@_spi(Script) import CoreBluetooth
import Foundation
@_spi(Script) import HealthKit
import Holdfast
import HoldfastAppleApp
import HoldfastBackgroundUploads
import HoldfastBluetooth
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthKit
import HoldfastPorts
import HoldfastTestKit
import Observation
@_spi(Script) import Security
import Synchronization
import Testing
@_spi(Script) import UIKit

@testable import HoldfastUI

/// The app's delegate, as an app writes it: it makes all parts before the launch ends.
final class PhoneApp: HoldfastDelegate {
  private let phone: DevicePhone

  init(on phone: DevicePhone) {
    self.phone = phone
    super.init()
  }

  override func launched() {
    guard let application = runningApplication else { return }
    let time = AppBackgroundTime(application)
    let links = HoldfastLinks(
      server: DevicePhone.server, directory: URL(filePath: phone.scratch.path),
      ports: DevicePorts(
        network: phone.network, reachability: FakeReachability(),
        lifecycle: ApplicationLifecycle(application, time: time, center: phone.center),
        secrets: Keychain(service: phone.service)),
      backgroundTime: time
    ) { [phone] in phone.token.withLock(\.self) }
    links.parts.radio = phone.bottle.system.central(restoration: DevicePhone.radio)
    links.parts.samples = HealthKitSource(HKHealthStore(phone.health))
    links.parts.types = phone.types
    let target = UploadTarget(
      server: DevicePhone.server.absoluteString, directory: links.syncDirectory,
      http: phone.network
    ) { [phone] in phone.token.withLock(\.self) }
    links.parts.uploads = phone.process.run {
      BackgroundUploads(identifier: DevicePhone.uploads, target)
    }
    phone.onLaunch(links)
    router.links = links
    router.wakes = SystemWakes(tasks: [router.task], scheduler: phone.scheduler)
  }
}

/// A phone: the parts of the system, which outlive the app, and one process of the app after the
/// other.
@MainActor final class DevicePhone {
  static let server = URL(string: "https://server.example") ?? URL(filePath: "/")
  static let radio = "bottle"
  static let uploads = "sync"
  static let steps = "HKQuantityTypeIdentifierStepCount"
  static let heartRate = "HKQuantityTypeIdentifierHeartRate"

  let scratch: Scratch
  let service = "launch.\(UUID().uuidString)"
  let health = ScriptedHealth()
  let daemon = UploadDaemon()
  let bottle = BottleHost()
  let network = FakeNetwork(clock: BootClock())
  /// The token of the user who is signed in.
  let token = Mutex("token")
  /// The types that the app sets in each launch.
  var types: [String]? = [DevicePhone.steps]
  /// More that the app does in each launch.
  var onLaunch: (HoldfastLinks) -> Void = { _ in }
  private(set) var center = NotificationCenter()
  private(set) var application = UIApplication(.background)
  private(set) var scheduler = BGTaskScheduler(permitted: [], refreshes: 1)
  private(set) var process: AppProcess
  private var app: PhoneApp?
  private var isDataAvailable = true
  /// The misuses of the processes that have ended.
  private var misuses: [String] = []

  init() throws {
    scratch = try Scratch()
    process = AppProcess(daemon)
    network.serve(requests: { _ in
      .success(HTTPAnswer(status: 200, headers: [:], body: []))
    })
    daemon.answer { _ in .answer(200) }
  }

  var router: LaunchRouter? { app?.router }

  /// The links of the running app.
  var links: HoldfastLinks {
    get throws { try #require(app?.router.links) }
  }

  /// The store of the token of the pairing.
  var pairing: PairingStore {
    PairingStore(
      in: scratch("relay"), ports: DevicePorts(secrets: Keychain(service: service)))
  }

  /// Starts the app.
  ///
  /// - Parameter first: What the system calls before the launch, which no system should.
  func launch(
    _ state: UIApplication.State = .background,
    _ options: [UIApplication.LaunchOptionsKey: Any]? = nil,
    first: (UIApplication) -> Void = { _ in }
  ) {
    center = NotificationCenter()
    application = UIApplication(
      state, isProtectedDataAvailable: isDataAvailable, center: center)
    scheduler = BGTaskScheduler(permitted: [HoldfastLinks.refreshTask], refreshes: 1)
    process.kill()
    process = AppProcess(daemon)
    let app = PhoneApp(on: self)
    self.app = app
    application.delegate = app
    first(application)
    application.launch(app, options)
    scheduler.endLaunch()
  }

  /// Ends the app. Its stores are closed, because this process goes on.
  func end() async throws {
    process.kill()
    for model in try links.models.values { await model.close() }
    await settle()
    misuses += takeMisuses()
    app = nil
  }

  /// Locks the device as after its start, or unlocks it.
  func lock(_ isLocked: Bool) {
    isDataAvailable = !isLocked
    health.lock(isLocked)
    ScriptedKeychain(service: service).set(isLocked ? .neverUnlocked : .unlocked)
    if app != nil { application.setProtectedDataAvailable(!isLocked) }
  }

  /// Adds a sample, as a watch does.
  func walk(_ minutesAgo: Double = 10) throws {
    let identifier = HKQuantityTypeIdentifier(rawValue: Self.steps)
    let type = try #require(HKObjectType.quantityType(forIdentifier: identifier))
    let start = Date(timeIntervalSinceNow: -60 * minutesAgo)
    health.add([
      HKQuantitySample(
        type, HKQuantity(unit: HKUnit(from: "count"), doubleValue: 12),
        SampleFacts(start: start, end: start.addingTimeInterval(60)))
    ])
  }

  /// The uploads that the system has not ended.
  var running: [Transfer] { daemon.transfers(of: Self.uploads) }

  /// Returns when the system has this number of uploads.
  func hasUploads(_ count: Int) async {
    while daemon.requests.count < count { await Task.yield() }
  }

  /// Returns when every handler was called and all background time was given back.
  func settle() async {
    while !application.openHandlers.isEmpty || !application.openTasks.isEmpty
      || health.handlers.open > 0
    { await Task.yield() }
  }

  private func takeMisuses() -> [String] {
    application.takeLaunchMisuses() + scheduler.takeMisuses()
  }

  /// Checks that the app broke no rule of the system, in this process and in earlier ones.
  func expectNoMisuse() async {
    await settle()
    #expect(misuses + takeMisuses() == [])
    #expect(daemon.takeMisuses() == [])
    #expect(health.misuses == [])
    #expect(health.handlers.open == 0)
    #expect(bottle.system.radio.misuses == [])
    #expect(bottle.system.radio.unanswered == [])
    #expect(await bottle.system.on(\.violations) == [])
  }
}

/// Returns once the condition is true. The condition is checked at the start, and after each change
/// of a property that it has read.
@MainActor func change<Model>(of model: Model, until isReached: (Model) -> Bool) async {
  while !isReached(model) {
    await withCheckedContinuation { continuation in
      withObservationTracking {
        _ = isReached(model)
      } onChange: {
        continuation.resume()
      }
    }
    await Task.yield()
  }
}
