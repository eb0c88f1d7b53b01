import CHoldfastJNI
import Foundation
import HoldfastCore
import HoldfastLab
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastJNI

/// Tests of what belongs to no port: threads, references, exceptions, the end of a host.
@Suite(
  .enabled(if: JDK.home != nil, "no JDK; install default-jdk-headless"), CompiledJava(),
  .serialized, .timeLimit(.minutes(60)))
struct JavaMachineTests {
  @Test func `10,000 calls leave no reference behind`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkReferences)
    }
    expectNoWarnings(result)
  }

  @Test func `many threads report at once, and each grant and wake ends once`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkManyThreads)
    }
    expectNoWarnings(result)
  }

  @Test func `a host that was closed ends its streams and wakes, and calls fail`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkClosed)
    }
    expectNoWarnings(result)
  }

  @Test func `a host that Swift released is unknown to Java`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkReleased)
    }
    expectNoWarnings(result)
  }

  @Test func `Swift knows every constant of Java's enumerations`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkConstants)
    }
    expectNoWarnings(result)
  }

  @Test func `a thread that called Java is detached when it ends`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkThreads)
    }
    expectNoWarnings(result)
  }

  @Test func `an exception of the caller is left to the caller`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkExceptionStays)
    }
    expectNoWarnings(result)
  }

  @Test func `the machine reports a misuse of JNI`() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, misuse)
    }
    #expect(warnings(try #require(result)).contains { $0.contains("exception pending") })
  }

  @Test func `an object that is no host is refused`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [classes = CompiledJava.folder as String] in
      await inJava(classes, checkRefusal)
    }
    expectNoWarnings(result)
  }
}

private func checkReferences(_ java: Java) async throws {
  let script = try java.host()
  // The first round loads classes, which keep references.
  try await everyCall(script, times: 10)
  let before = try #require(Int(try script.act("globals")))
  try await everyCall(script, times: 1_000)
  // A task that ends after its call releases its references then.
  func left() throws -> Int { try #require(Int(try script.act("globals"))) }
  let limit = ContinuousClock.now.advanced(by: .seconds(600))
  while try left() > before, .now < limit { await Task.yield() }
  #expect(try left() <= before)
  // The references of a thread that Swift attached end with each call.
  for _ in 0..<100 { try script.act("fresh") }
  #expect(try script.act("alive") == "0")
  let (given, ended) = (try script.act("given"), try script.act("ended"))
  #expect(given == ended)
}

private func checkManyThreads(_ java: Java) async throws {
  for isClosed in [false, true] {
    let script = try java.host()
    let (heard, paths) = (
      Task { [changes = JavaLifecycle(script.host).changes()] in
        var count = 0
        for await notice in changes where notice.event == .background {
          count += 1
          if isClosed, count == 100 { script.host.close() }
        }
        return count
      },
      Task { [changes = JavaReachability(script.host).changes()] in
        for await _ in changes {}
      }
    )
    JavaWakes(script.host).register { _, wake in Task { wake.giveBack(.done) } }
    try script.act("storm", "250")
    script.host.close()
    let count = await heard.value
    await paths.value
    #expect(isClosed ? count >= 100 : count == 2_000)
    try await until("each grant was given back") { try script.act("given") == "2000" }
    try await until("each wake has ended") { try script.act("ended") == "2000" }
  }
  #expect(Handles.count == 0)
}

private func checkClosed(_ java: Java) async throws {
  for verb in ["close", ""] {
    let script = try java.host()
    try script.act("wake", "PUSH")
    let (paths, events) = (
      JavaReachability(script.host).changes(), JavaLifecycle(script.host).changes()
    )
    if verb.isEmpty { script.host.close() } else { try script.act(verb) }
    #expect(try script.act("ended") == "1")
    for await _ in paths {}
    for await _ in events {}
    for await _ in JavaReachability(script.host).changes() {}
    for await _ in JavaLifecycle(script.host).changes() {}
    #expect(JavaLifecycle(script.host).present() == [])
    await expectClosed(script)
    try everyReport(script)
    #expect(try script.act("given") == "1")
    #expect(try script.act("ended") == "2")
  }
}

private func checkReleased(_ java: Java) async throws {
  var script: ScriptedHost? = try java.host()
  let act = try #require(script).released()
  var changes = script.map { JavaReachability($0.host).changes() }?.makeAsyncIterator()
  _ = await changes?.next()
  script = nil
  #expect(await changes?.next() == nil)
  #expect(Handles.count == 0)
  _ = try act("network", "none")
  _ = try act("grant", "BACKGROUND")
  _ = try act("wake", "PUSH")
  _ = try act("close", "")
  #expect(try act("given", "") == "1")
  #expect(try act("ended", "") == "1")
}

private func checkConstants(_ java: Java) async throws {
  let script = try java.host()
  var events = JavaLifecycle(script.host).changes().makeAsyncIterator()
  let woken = Mailbox<WakeCause>()
  JavaWakes(script.host).register { cause, _ in woken.put(cause) }
  #expect(try script.act("constants") == "10 4")
  #expect(woken.count == 4)
  // The first three describe the state, which the constants UNLOCKED and LOW_POWER_OFF repeat or
  // change back.
  var heard: [LifecycleEvent] = []
  while heard.last != .lowPower(false) || heard.count < 4 {
    heard.append(try #require(await events.next()).event)
  }
  #expect(
    heard.dropFirst(3) == [
      .foreground, .background, .willSleep, .didWake, .again, .terminate,
      .protectedData(available: false), .lowPower(true), .lowPower(false),
    ])
}

private func checkThreads(_ java: Java) async throws {
  let script = try java.host()
  let (called, end) = (Mailbox<Void>(), DispatchSemaphore(value: 0))
  // The threads that run Swift's tasks stay attached, at most one for each processor.
  let pool = ProcessInfo.processInfo.activeProcessorCount + 2
  for _ in 0..<2 * pool {
    Thread.detachNewThread {
      _ = try? JavaSecrets(script.host).read(.resume)
      called.put(())
      end.wait()
    }
  }
  _ = await called.next(2 * pool)
  #expect(try #require(Int(script.act("threads"))) >= 2 * pool)
  for _ in 0..<2 * pool { end.signal() }
  try await until("the threads are detached") {
    try #require(Int(script.act("threads"))) <= pool
  }
}

/// Waits until a condition is true, and fails after a minute.
private func until(_ condition: String, _ isTrue: () throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(600)
  while try !isTrue() {
    guard ContinuousClock.now < end else { throw ContractViolation("not true: \(condition)") }
    await Task.yield()
  }
}

/// Makes ten calls in each round.
private func everyCall(_ script: ScriptedHost, times: Int) async throws {
  let (secrets, notifier, wakes) = (
    JavaSecrets(script.host), JavaNotifier(script.host), JavaWakes(script.host)
  )
  wakes.register { _, wake in wake.giveBack(.done) }
  for round in 0..<times {
    try secrets.write(Secret("secret \(round)"), .resume, access: .afterFirstUnlock)
    #expect(try secrets.read(.resume) == Secret("secret \(round)"))
    try wakes.schedule(WakeTask("task"))
    wakes.cancel("task")
    _ = await notifier.show(HostNotification(title: "title", body: "\(round)"))
    await notifier.remove()
    try script.act("fail", "broken")
    #expect(throws: StoreFailure.self) { try secrets.read(.resume) }
    try script.act("fail")
    try everyReport(script)
    try script.act("log")
  }
  _ = script.notes.takeAll()
}

private func everyReport(_ script: ScriptedHost) throws {
  try script.act("network", "none")
  try script.act("network", "cell")
  try script.act("grant", "BACKGROUND")
  try script.act("wake", "PUSH")
  try script.act("expire")
}

private func expectClosed(_ script: ScriptedHost) async {
  let closed = StoreFailure.other(detail: "The Java host is closed.")
  #expect(throws: closed) { try JavaSecrets(script.host).read(.resume) }
  #expect(throws: closed) {
    try JavaSecrets(script.host).write(nil, .resume, access: .whileUnlocked)
  }
  #expect(throws: WakeFailure.unavailable(identifier: "a")) {
    try JavaWakes(script.host).schedule(WakeTask("a"))
  }
  JavaWakes(script.host).cancel("a")
  JavaWakes(script.host).register { _, _ in Issue.record("a closed host wakes nobody") }
  #expect(await !JavaNotifier(script.host).show(HostNotification(title: "a", body: "b")))
  await JavaNotifier(script.host).remove()
  #expect(script.notes.takeAll().count == 4)
}

/// Calls a function beside a pending exception.
private func misuse(_ java: Java) async throws {
  let environment = try unsafe java.environment()
  for _ in 0..<2 {
    _ = unsafe environment.pointee.pointee.FindClass(environment, "holdfast/Missing")
  }
  unsafe environment.pointee.pointee.ExceptionClear(environment)
}

private func checkRefusal(_ java: Java) async throws {
  try java.machine.run { thread throws(JavaFailure) in
    let text = try thread.string("no host")
    #expect {
      try JavaHost(text, in: thread) { _ in }
    } throws: { error in
      "\(error)".hasPrefix("java.lang.NoSuchMethodError")
    }
  }
  #expect(Handles.count == 0)
}

/// Throws an exception in Java, and calls the host before the exception is handled.
private func checkExceptionStays(_ java: Java) async throws {
  let script = try java.host()
  let environment = try unsafe java.environment()
  let functions = unsafe environment.pointee
  guard
    let type = unsafe functions.pointee.FindClass(environment, "java/lang/IllegalStateException")
  else { throw JavaFailure.noThread }
  let thread = unsafe JavaThread(environment)
  let made = try thread.make(unsafe JavaObject(type), "()V", [])
  _ = unsafe functions.pointee.Throw(environment, made.address)
  #expect(try JavaSecrets(script.host).read(.resume) == nil)
  #expect(throws: JavaFailure.thrown(reason: nil, text: "java.lang.IllegalStateException")) {
    try thread.check()
  }
  #expect(throws: Never.self) { try thread.check() }
}

extension ScriptedHost {
  /// Returns the commands without the Swift side of the host.
  func released() -> (String, String) throws -> String {
    { [script, method] verb, argument in
      try script.use { thread, object throws(JavaFailure) in
        let text = try thread.object(
          method, of: object, [.object(thread.string(verb)), .object(thread.string(argument))])
        return text.map { thread.text($0) } ?? ""
      }
    }
  }
}
