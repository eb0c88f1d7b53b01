import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastJNI

/// Tests of the ports over a host in a Java virtual machine.
@Suite(
  .enabled(if: JDK.home != nil, "no JDK; install default-jdk-headless"), CompiledJava(),
  .serialized, .timeLimit(.minutes(60)))
struct JavaPortTests {
  @Test func `secrets satisfy the contract, and each exception becomes a typed failure`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkSecrets)
    }
    expectNoWarnings(result)
  }

  @Test func `reachability satisfies the contract`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkReachability)
    }
    expectNoWarnings(result)
  }

  @Test func `the lifecycle satisfies the contract, and grants end with the last listener`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkLifecycle)
    }
    expectNoWarnings(result)
  }

  @Test func `wakes satisfy the contract, and refusals are distinguished`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkWakes)
    }
    expectNoWarnings(result)
  }

  @Test func `a notification is shown and removed, and a failing host shows none`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkNotifier)
    }
    expectNoWarnings(result)
  }
}

private func checkSecrets(_ java: Java) async throws {
  try await secretStoreContract { JavaSecrets(try java.host().host) }
  let script = try java.host()
  let secrets = JavaSecrets(script.host)
  let odd = Secret("z\0 é 🫙 \u{1F469}\u{200D}\u{1F680}")
  try secrets.write(odd, .resume, access: .whileUnlocked)
  try secrets.write(Secret(""), .resume, access: .afterFirstUnlock)
  #expect(try secrets.read(.resume) == Secret(""))
  try secrets.write(odd, .resume, access: .whileUnlocked)
  #expect(try secrets.read(.resume) == odd)
  #expect(
    try script.act("log").split(separator: "\n") == [
      "write resume while unlocked", "write resume after first unlock",
      "write resume while unlocked",
    ])
  let text = "holdfast.HoldfastException: scripted"
  let failures: [String: StoreFailure] = [
    "LOCKED": .locked(detail: text), "DENIED": .denied(detail: text),
    "FULL": .full(detail: text), "CORRUPT": .corrupt(detail: text),
    "TOO_MANY": .other(detail: text),
    "broken": .other(detail: "java.lang.IllegalStateException: broken"),
    "silent": .other(detail: "an exception without a text"),
    "deep": .other(detail: "java.lang.StackOverflowError"),
  ]
  for (name, failure) in failures {
    try script.act("fail", name)
    #expect(throws: failure) { try secrets.read(.resume) }
    // No exception is left, and the host answers again.
    try script.act("fail")
    #expect(try secrets.read(.resume) == odd)
  }
  try script.act("fail", "LOCKED")
  #expect(throws: StoreFailure.locked(detail: text + " while writing [secret]")) {
    try secrets.write(odd, .resume, access: .whileUnlocked)
  }
}

private func checkReachability(_ java: Java) async throws {
  let script = try java.host()
  let monitor = JavaReachability(script.host)
  var networks = ["none", "cell"]
  try await reachabilityMonitorContract(monitor) {
    try script.act("network", networks.removeFirst())
  }
  try script.act("network", "cell")
  try script.act("network", "login")
  var changes = monitor.changes().makeAsyncIterator()
  #expect(await changes.next() == .captivePortal)
  try script.act("network", "cell")
  try script.act("network", "cell")
  try script.act("network", "none")
  #expect(
    await changes.next()
      == .reachable(path: PathID("cell"), traits: [.cellular, .expensive]))
  #expect(await changes.next() == .unreachable)
}

private func checkLifecycle(_ java: Java) async throws {
  let script = try java.host()
  let lifecycle = JavaLifecycle(script.host)
  let known: [LifecycleEvent] = [.protectedData(available: true), .lowPower(false), .foreground]
  #expect(lifecycle.present() == known)
  let caused: [(LifecycleEvent, String)] = [
    (.background, "BACKGROUND"), (.protectedData(available: false), "LOCKED"),
    (.lowPower(true), "LOW_POWER_ON"), (.willSleep, "WILL_SLEEP"), (.didWake, "DID_WAKE"),
    (.again, "AGAIN"), (.foreground, "FOREGROUND"), (.lowPower(false), "LOW_POWER_OFF"),
    (.protectedData(available: true), "UNLOCKED"), (.terminate, "TERMINATE"),
  ]
  try await lifecycleMonitorContract(lifecycle, events: known + caused.map(\.0)) { event in
    // The first events describe the state at the start, so nothing causes them.
    guard let name = caused.first(where: { $0.0 == event })?.1,
      !known.contains(event) || lifecycle.present() != known
    else { return }
    try script.act("lifecycle", name)
  }
  try await grants(script, lifecycle)
}

private func checkWakes(_ java: Java) async throws {
  let contract = try java.host()
  try await wakeSourceContract(JavaWakes(contract.host)) {
    _ = try? contract.act("expire")
  } advance: {
    _ = try? contract.act("advance", "\(Int($0 / .milliseconds(1)))")
  }
  #expect(
    try contract.act("log").split(separator: "\n").filter { !$0.hasPrefix("schedule") } == [
      "ended TASK early true", "ended TASK again false",
    ])
  try await causes(of: java.host())
  try refusals(by: java.host())
}

private func checkNotifier(_ java: Java) async throws {
  let script = try java.host()
  let notifier = JavaNotifier(script.host)
  #expect(await notifier.show(HostNotification(title: "🫙 full", body: "a\nb")))
  #expect(await !notifier.show(HostNotification(title: "", body: "nobody sees it")))
  await notifier.remove()
  #expect(try script.act("log") == "show 🫙 full | a\nb\nshow  | nobody sees it\nremove")
  #expect(script.notes.count == 0)
  try script.act("fail", "broken")
  #expect(await !notifier.show(HostNotification(title: "a", body: "b")))
  await notifier.remove()
  let text = "java.lang.IllegalStateException: broken"
  #expect(
    script.notes.takeAll() == [
      "The notification was not shown: \(text)", "The notification was not removed: \(text)",
    ])
}

private func grants(_ script: ScriptedHost, _ lifecycle: JavaLifecycle) async throws {
  #expect(try script.act("given") == "0")
  try script.act("grant", "BACKGROUND")
  #expect(try script.act("given") == "1", "without listeners, it is given back at once")
  var first = lifecycle.changes().makeAsyncIterator()
  var second = lifecycle.changes().makeAsyncIterator()
  for _ in 0..<3 { _ = (await first.next(), await second.next()) }
  try script.act("grant", "BACKGROUND")
  var (one, two) = (await first.next(), await second.next())
  #expect(one?.event == .background && one?.grant != nil && one?.grant === two?.grant)
  one = nil
  #expect(try script.act("given") == "1")
  two = nil
  #expect(try script.act("given") == "2")
  try script.act("grant", "LOCKED")
  one = await first.next()
  one?.grant?.giveBack()
  #expect(try script.act("given") == "3", "a listener can give it back early")
  try script.act("grant", "LOCKED")
  #expect(try script.act("given") == "4", "a condition that only repeats is no event")
  #expect(script.notes.count == 0)
  try script.act("throwing-grant", "BACKGROUND")
  (one, two) = (await first.next(), nil)
  _ = (await second.next(), await second.next())
  one = nil
  #expect(
    script.notes.takeAll() == [
      "The host failed when its time was given back: java.lang.IllegalStateException: grant"
    ])
  _ = (one, two)
}

private func causes(of script: ScriptedHost) async throws {
  let wakes = JavaWakes(script.host)
  let woken = Mailbox<(WakeCause, Wake)>()
  wakes.register { woken.put(($0, $1)) }
  for name in ["PUSH", "HEALTH", "UPLOADS"] { try script.act("wake", name) }
  let causes = await woken.next(3).map { cause, wake in
    #expect(wake.budget == .seconds(30))
    return cause
  }
  #expect(causes == [.push, .health(types: ["one", "two"]), .uploads(session: "one\ntwo")])
  #expect(try script.act("ended") == "3", "a wake that is released has ended")
  #expect(script.notes.count == 0)
  try script.act("throwing-wake")
  _ = await woken.next()
  #expect(
    script.notes.takeAll() == [
      "The host failed at the end of a wake: java.lang.IllegalStateException: wake"
    ])
}

private func refusals(by script: ScriptedHost) throws {
  let wakes = JavaWakes(script.host)
  try wakes.schedule(
    WakeTask("night", after: .microseconds(1500), isLong: true, needsNetwork: false))
  try wakes.schedule(WakeTask("never", after: .seconds(Int64.max)))
  try wakes.schedule(WakeTask("now", after: .seconds(-1)))
  #expect(
    try script.act("log").split(separator: "\n") == [
      "schedule night 2 true false", "schedule never 3155760000000 false true",
      "schedule now 0 false true",
    ])
  let failures: [String: WakeFailure] = [
    "NOT_PERMITTED": .notPermitted(identifier: "a"), "TOO_MANY": .tooMany(identifier: "a"),
    "UNAVAILABLE": .unavailable(identifier: "a"), "broken": .unavailable(identifier: "a"),
  ]
  for (name, failure) in failures {
    try script.act("fail", name)
    #expect(throws: failure) { try wakes.schedule(WakeTask("a")) }
  }
  #expect(script.notes.takeAll().allSatisfy { $0.hasPrefix("The task a was not scheduled: ") })
  try script.act("fail", "broken")
  wakes.cancel("a")
  #expect(
    script.notes.takeAll() == [
      "The task a was not cancelled: java.lang.IllegalStateException: broken"
    ])
}
