import CHoldfastJNI
import HoldfastCore
import HoldfastPorts
import Synchronization

/// The Java part of an app, as an object that implements the interface `HoldfastHost`.
///
/// The ports `JavaReachability`, `JavaLifecycle`, `JavaNotifier`, `JavaWakes` and `JavaSecrets` call
/// the host, and receive what it reports. Calls into Java are made in the thread of the caller, which
/// is attached to the virtual machine at its first call and detached when it ends.
///
/// Java knows this object by a number only, so a report that comes after the end of the object has no
/// effect.
public final class JavaHost: Sendable {
  struct Methods: Sendable {
    let started: JavaMethod
    let readSecret: JavaMethod
    let writeSecret: JavaMethod
    let showNotification: JavaMethod
    let removeNotification: JavaMethod
    let scheduleTask: JavaMethod
    let cancelTask: JavaMethod

    init(of type: JavaObject, in thread: JavaThread) throws(JavaFailure) {
      started = try thread.method("started", "(Lholdfast/HoldfastEvents;)V", of: type)
      readSecret = try thread.method(
        "readSecret", "(Ljava/lang/String;)Ljava/lang/String;", of: type)
      writeSecret = try thread.method(
        "writeSecret", "(Ljava/lang/String;Ljava/lang/String;Z)V", of: type)
      showNotification = try thread.method(
        "showNotification", "(Ljava/lang/String;Ljava/lang/String;)Z", of: type)
      removeNotification = try thread.method("removeNotification", "()V", of: type)
      scheduleTask = try thread.method("scheduleTask", "(Ljava/lang/String;JZZ)V", of: type)
      cancelTask = try thread.method("cancelTask", "(Ljava/lang/String;)V", of: type)
    }
  }

  let methods: Methods
  let state: Mutex<JavaState>
  /// The lock under which events are sent, so that all streams have them in one order.
  ///
  /// `yield` waits for a task that is being cancelled, and that waits for `state` in `onTermination`.
  private let order = Mutex(())
  /// A function that receives the texts of failures which no port can report.
  let note: @Sendable (String) -> Void
  private let handle: Int64

  /// Creates the Swift side of a host, and calls its method `started`.
  ///
  /// The initializer must be called in a thread of Java, such as in a native method of the app.
  ///
  /// - Parameters:
  ///   - environment: The `JNIEnv` of this thread.
  ///   - host: A reference to the host. It need not stay valid.
  ///   - note: A function that receives the texts of failures which no port can report, for a log.
  public convenience init(
    environment: UnsafeMutableRawPointer, host: UnsafeMutableRawPointer,
    note: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(JavaFailure) {
    let thread = unsafe JavaThread(environment.assumingMemoryBound(to: HJNIEnvironment.self))
    try unsafe self.init(JavaObject(host), in: thread, note: note)
  }

  init(
    _ host: JavaObject, in thread: JavaThread, note: @escaping @Sendable (String) -> Void
  ) throws(JavaFailure) {
    let (methods, global) = try thread.inFrame { thread throws(JavaFailure) in
      (
        try Methods(of: thread.type(of: host), in: thread), try JavaGlobal(host, in: thread)
      )
    }
    (self.methods, self.note) = (methods, note)
    state = Mutex(JavaState(host: global))
    handle = Handles.reserve()
    Handles.put(self, at: handle)
    try thread.inFrame { thread throws(JavaFailure) in
      let events = try thread.load("holdfast.HoldfastEvents", beside: thread.type(of: host))
      try unsafe thread.register(HostEvents.natives, of: events)
      let receiver = try thread.make(events, "(J)V", [.long(handle)])
      try thread.call(methods.started, of: host, [.object(receiver)])
    }
  }

  deinit { close() }

  /// Ends the host: all streams end, wakes are given back, and later calls fail. Further calls have
  /// no effect.
  public func close() {
    Handles.remove(handle)
    // The old state is released without the lock, since its wakes and grants call back.
    let old = state.withLock { state in
      let old = state
      state = JavaState(host: nil)
      return old
    }
    for stream in old.paths.values { stream.finish() }
    for stream in old.listeners.values { stream.finish() }
    for wake in old.wakes.values { wake.expire() }
  }

  /// Returns a stream of what the host reports, which begins with the known state. It ends with the
  /// host.
  func stream<Element: Sendable>(
    _ listeners: any WritableKeyPath<JavaState, [Int64: AsyncStream<Element>.Continuation]>
      & Sendable,
    known: (JavaState) -> [Element]
  ) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
    let number = state.withLock { state -> Int64? in
      guard state.host != nil else { return nil }
      // Under the lock, so that no change comes before the state.
      for element in known(state) { continuation.yield(element) }
      let number = state.number()
      state[keyPath: listeners][number] = continuation
      return number
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0[keyPath: listeners].removeValue(forKey: number) }
    }
    return stream
  }

  /// Sends an element to the streams that `change` returns.
  func send<Element: Sendable>(
    _ element: Element,
    _ change: @Sendable (inout JavaState) -> [Int64: AsyncStream<Element>.Continuation]
  ) {
    let streams = order.withLock { _ in
      let streams = state.withLock { change(&$0) }
      for stream in streams.values { stream.yield(element) }
      return streams
    }
    // The streams are released without the lock, since the grants of their elements call back.
    withExtendedLifetime(streams) {}
  }

  /// Runs a function with the host, in this thread.
  func call<R>(
    _ body: (JavaThread, JavaObject) throws(JavaFailure) -> R
  ) throws(JavaFailure) -> R {
    guard let host = state.withLock(\.host) else { throw .closed }
    return try host.use(body)
  }
}

/// The values that a host has reported, and the listeners.
struct JavaState {
  /// A wake that has not been given back. Its holders keep it.
  struct Running {
    weak var wake: Wake?

    func expire() {
      let wake = wake
      wake?.expire()
      wake?.giveBack(.later)
    }
  }

  /// `nil` after the end.
  let host: JavaGlobal?
  var reachability: Reachability?
  var paths: [Int64: AsyncStream<Reachability>.Continuation] = [:]
  var isInBackground: Bool?
  var isProtectedDataAvailable: Bool?
  var isLowPower: Bool?
  var listeners: [Int64: AsyncStream<LifecycleNotice>.Continuation] = [:]
  var handler: (@Sendable (WakeCause, Wake) -> Void)?
  var early: [(WakeCause, Wake)] = []
  var wakes: [Int64: Running] = [:]
  private var last: Int64 = 0

  init(host: JavaGlobal?) { self.host = host }

  /// Returns a number that was not returned before.
  mutating func number() -> Int64 {
    last += 1
    return last
  }

  /// The events that describe the state. The conditions come first.
  var present: [LifecycleEvent] {
    [
      isProtectedDataAvailable.map { .protectedData(available: $0) },
      isLowPower.map { .lowPower($0) },
      isInBackground.map { $0 ? .background : .foreground },
    ].compactMap(\.self)
  }

  /// Stores an event. Returns false if it only repeats a known condition.
  mutating func take(_ event: LifecycleEvent) -> Bool {
    switch event {
    case .protectedData(let isAvailable):
      defer { isProtectedDataAvailable = isAvailable }
      return isProtectedDataAvailable != isAvailable
    case .lowPower(let isOn):
      defer { isLowPower = isOn }
      return isLowPower != isOn
    case .foreground: isInBackground = false
    case .background: isInBackground = true
    case .willSleep, .didWake, .again, .terminate: break
    }
    return true
  }
}

/// The numbers by which Java finds the hosts. A number is never used twice.
enum Handles {
  private struct Table {
    var last: Int64 = 0
    var hosts: [Int64: Entry] = [:]
  }

  private struct Entry {
    weak var host: JavaHost?
  }

  private static let table = Mutex(Table())

  static func reserve() -> Int64 {
    table.withLock { table in
      table.last += 1
      return table.last
    }
  }

  static func put(_ host: JavaHost, at number: Int64) {
    table.withLock { $0.hosts[number] = Entry(host: host) }
  }

  static func remove(_ number: Int64) {
    table.withLock { _ = $0.hosts.removeValue(forKey: number) }
  }

  static func host(_ number: Int64) -> JavaHost? { table.withLock { $0.hosts[number]?.host } }

  /// The number of hosts that are open.
  static var count: Int { table.withLock(\.hosts.count) }
}
