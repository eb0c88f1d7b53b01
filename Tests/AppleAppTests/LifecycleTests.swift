import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing
@_spi(Script) import UIKit

@testable import HoldfastAppleApp

/// Tests of the lifecycle and of background time. They share the process's Low Power Mode.
@MainActor @Suite(.serialized, .timeLimit(.minutes(60)))
struct LifecycleTests {
  let center = NotificationCenter()

  private func application(
    _ state: UIApplication.State = .active, isProtectedDataAvailable: Bool = true
  ) -> UIApplication {
    UIApplication(state, isProtectedDataAvailable: isProtectedDataAvailable, center: center)
  }

  @Test func `satisfies the contract of a lifecycle monitor`() async throws {
    let application = application()
    let lifecycle = ApplicationLifecycle(
      application, time: AppBackgroundTime(application), center: center)
    let first: [LifecycleEvent] = [
      .protectedData(available: true), .lowPower(false), .foreground,
    ]
    let caused: [LifecycleEvent] = [
      .background, .protectedData(available: false), .lowPower(true),
      .protectedData(available: true), .foreground, .lowPower(false), .terminate,
    ]
    var waiting = first.count
    try await lifecycleMonitorContract(lifecycle, events: first + caused) { event in
      // The first events describe the state at the start, so nothing causes them.
      waiting -= 1
      if waiting < 0 { cause(event, application) }
    }
    #expect(application.takeMisuses() == [])
  }

  private func cause(_ event: LifecycleEvent, _ application: UIApplication) {
    switch event {
    case .background: application.enterBackground()
    case .foreground: application.enterForeground()
    case .protectedData(let isAvailable): application.setProtectedDataAvailable(isAvailable)
    case .lowPower(let isOn): ScriptedProcess.setLowPower(isOn, center: center)
    case .terminate: application.terminate()
    case .willSleep, .didWake, .again: break
    }
  }

  @Test func `a launch in the background is reported as such, until the user opens the app`() async
  {
    let application = application(.background, isProtectedDataAvailable: false)
    let lifecycle = ApplicationLifecycle(application, time: nil, center: center)
    #expect(
      lifecycle.present() == [.protectedData(available: false), .lowPower(false), .background])
    // An app without scenes only becomes active.
    application.becomeActive()
    #expect(lifecycle.present().last == .foreground)
    application.enterForeground()
    var changes = lifecycle.changes().makeAsyncIterator()
    for expected in lifecycle.present() { #expect(await changes.next()?.event == expected) }
    application.enterBackground()
    #expect(await changes.next()?.event == .background)
  }

  @Test func `the grant is taken in the notification, and ends with the last listener`() async {
    let application = application()
    let lifecycle = ApplicationLifecycle(
      application, time: AppBackgroundTime(application), center: center)
    var first = lifecycle.changes().makeAsyncIterator()
    var second = lifecycle.changes().makeAsyncIterator()
    for _ in 0..<3 { _ = (await first.next(), await second.next()) }
    application.enterBackground()
    #expect(application.openTasks == ["Holdfast background"])
    var (one, two) = (await first.next(), await second.next())
    #expect(one?.grant != nil && one?.grant === two?.grant)
    one = nil
    #expect(application.openTasks.count == 1)
    two = nil
    #expect(application.openTasks == [])
    #expect(application.takeMisuses() == [])
    _ = (one, two)
  }

  @Test func `a grant that expires is given back once`() async {
    let application = application()
    let lifecycle = ApplicationLifecycle(
      application, time: AppBackgroundTime(application), center: center)
    let stream = lifecycle.changes()
    application.enterBackground()
    application.expireTasks()
    #expect(application.openTasks == [])
    var changes = stream.makeAsyncIterator()
    for _ in 0..<4 { _ = await changes.next() }
    #expect(application.takeMisuses() == [])
  }

  @Test func `without listeners or time, nothing is held`() {
    let application = application()
    let lifecycle = ApplicationLifecycle(
      application, time: AppBackgroundTime(application), center: center)
    application.enterBackground()
    #expect(application.openTasks == [])
    application.enterForeground()
    application.setGranting(false)
    application.enterBackground()
    #expect(lifecycle.present().last == .background)
    #expect(application.takeMisuses() == [])
  }

  @Test func `a monitor that was released observes nothing`() {
    let application = application()
    var lifecycle: ApplicationLifecycle? = ApplicationLifecycle(
      application, time: AppBackgroundTime(application), center: center)
    weak let observed = lifecycle
    lifecycle = nil
    #expect(observed == nil)
    application.enterBackground()
    #expect(application.openTasks == [])
  }

  @Test func `background time satisfies its contract`() throws {
    let application = application()
    try backgroundTimeContract(AppBackgroundTime(application)) {
      MainActor.assumeIsolated { application.expireTasks() }
    }
    application.setGranting(false)
    #expect(AppBackgroundTime(application).begin("refused", expired: {}) == nil)
  }

  @Test func `time without an application satisfies the contract`() async throws {
    try backgroundTimeContract(ExpiringActivityTime()) { ScriptedProcess.expire() }
    while ScriptedProcess.running > 0 { await Task.yield() }
    ScriptedProcess.setGranting(false)
    defer { ScriptedProcess.setGranting(true) }
    let expired = Mailbox<Void>()
    let grant = ExpiringActivityTime().begin("refused") { expired.put(()) }
    _ = await expired.next()
    grant?.giveBack()
  }

  @Test func `refused time holds no thread, and its grant has no further effect`() async {
    ScriptedProcess.setGranting(false)
    defer { ScriptedProcess.setGranting(true) }
    let expired = Mailbox<Void>()
    var grants: [TimeGrant?] = []
    for _ in 0..<3 { grants.append(ExpiringActivityTime().begin("refused") { expired.put(()) }) }
    _ = await expired.next(3)
    while ScriptedProcess.running > 0 { await Task.yield() }
    for grant in grants { grant?.giveBack() }
    grants = []
    #expect(expired.count == 0)
  }

  @Test func `an expiry that nobody answers ends with the release of the grant`() async {
    let expired = Mailbox<Void>()
    var grant = ExpiringActivityTime().begin("kept") { expired.put(()) }
    while ScriptedProcess.running == 0 { await Task.yield() }
    ScriptedProcess.expire()
    _ = await expired.next()
    #expect(ScriptedProcess.running == 1)
    _ = grant
    grant = nil
    while ScriptedProcess.running > 0 { await Task.yield() }
  }
}
