import CHoldfastJNI
import Foundation
import HoldfastLab
import HoldfastTestKit
import Testing

@testable import HoldfastJNI

/// The JDK of this machine.
enum JDK {
  /// Its folder; `nil` if there is none.
  static let home: String? = {
    let environment = ProcessInfo.processInfo.environment
    let path = environment["PATH", default: "/usr/bin"].split(separator: ":")
    let compilers = path.map { "\($0)/javac" }
    return ([environment["JAVA_HOME"].map { "\($0)/bin/javac" }].compactMap(\.self) + compilers)
      .map { URL(filePath: $0).resolvingSymlinksInPath() }
      .map { $0.deletingLastPathComponent().deletingLastPathComponent().path }
      .first { home in
        ["bin/javac", "include/jni.h", "lib/server/libjvm.so"]
          .allSatisfy { FileManager.default.fileExists(atPath: "\(home)/\($0)") }
      }
  }()

  /// The folder of this package.
  static let package = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  /// Compiles the interface and the scripted host into a folder.
  static func compile(to folder: String) async throws {
    let sources = ["Sources/Android/JNI/Interface", "Tests/JavaTests/Scripted"].flatMap { folder in
      let root = "\(package)/\(folder)"
      return (FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".java") }.map { "\(root)/\($0)" }
    }
    let compiler = "\(home ?? "")/bin/javac"
    try await Shell.run([compiler, "-d", folder] + sources)
  }
}

/// A trait that compiles the Java classes once for a suite.
struct CompiledJava: SuiteTrait, TestScoping {
  /// The folder with the classes.
  @TaskLocal static var folder = ""

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing run: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    try await JDK.compile(to: scratch.path)
    try await Self.$folder.withValue(scratch.path, operation: run)
    scratch.remove()
  }
}

/// A Java virtual machine in this process.
///
/// Each test runs in a process of its own, which starts the machine itself: a machine handles signals,
/// cannot be ended, and would stay for all later tests. The other way, a `java` program that loads a
/// library, would need a second build of the test kit, and its failures would come as text.
struct Java: Sendable {
  let machine: JavaMachine
  private let scriptedHost: JavaGlobal
  // A number, because pointers are not Sendable.
  private let address: UInt

  /// Starts a machine that checks each use of JNI.
  ///
  /// - Parameter classes: The folder with the compiled classes.
  init(classes: String) throws {
    let options: [String] = [
      "-Djava.class.path=\(classes)", "-Xcheck:jni", "-Xrs", "-Xmx128m", "-XX:+UseSerialGC",
    ]
    let (machine, functions) = try unsafe Self.start(options)
    address = UInt(bitPattern: machine)
    let thread = unsafe JavaThread(functions)
    self.machine = try JavaMachine(of: thread)
    guard
      let type = unsafe functions.pointee.pointee.FindClass(
        functions, "holdfast/tests/ScriptedHost")
    else { throw JavaFailure.thrown(reason: nil, text: "the scripted host was not found") }
    scriptedHost = try JavaGlobal(unsafe JavaObject(type), in: thread)
  }

  private static func start(
    _ options: [String]
  ) throws -> (UnsafeMutablePointer<HJNIMachine>, UnsafeMutablePointer<HJNIEnvironment>) {
    guard let library = unsafe dlopen("\(JDK.home ?? "")/lib/server/libjvm.so", RTLD_NOW),
      let symbol = unsafe dlsym(library, "JNI_CreateJavaVM")
    else { throw JavaFailure.noThread }
    let create = unsafe unsafeBitCast(symbol, to: HJNICreate.self)
    // The machine reads its options when it starts.
    let texts = unsafe options.compactMap { unsafe strdup($0) }
    defer { unsafe texts.forEach { unsafe free($0) } }
    let list = unsafe texts.map { unsafe HJNIOption(text: $0, extra: nil) }
    var machine: UnsafeMutablePointer<HJNIMachine>?
    var environment: UnsafeMutableRawPointer?
    let status = unsafe list.withUnsafeBufferPointer { list in
      var start = unsafe HJNIStart(
        version: Int32(HJNI_VERSION), count: Int32(list.count), options: list.baseAddress,
        ignores_unknown: 0)
      return unsafe create(&machine, &environment, &start)
    }
    guard status == HJNI_OK, let machine = unsafe machine, let environment = unsafe environment
    else { throw JavaFailure.noThread }
    return unsafe (machine, environment.assumingMemoryBound(to: HJNIEnvironment.self))
  }

  /// Returns the functions of this thread.
  func environment() throws -> UnsafeMutablePointer<HJNIEnvironment> {
    guard let machine = unsafe UnsafeMutablePointer<HJNIMachine>(bitPattern: address),
      let environment = unsafe holdfast_jni_attach(machine)
    else { throw JavaFailure.noThread }
    return unsafe environment
  }

  /// Makes a host in Java and its Swift side.
  func host() throws -> ScriptedHost {
    let notes = Mailbox<String>()
    return try scriptedHost.use { thread, type throws(JavaFailure) in
      let made = try thread.make(type, "()V", [])
      let act = try thread.method(
        "act", "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;", of: type)
      let script = try JavaGlobal(made, in: thread)
      let host = try JavaHost(made, in: thread) { notes.put($0) }
      return ScriptedHost(host: host, notes: notes, script: script, method: act)
    }
  }
}

/// A host in Java, with the commands that make it report.
struct ScriptedHost: Sendable {
  let host: JavaHost
  /// What no port could report.
  let notes: Mailbox<String>
  let script: JavaGlobal
  let method: JavaMethod

  /// Runs a command of `ScriptedHost.java`.
  @discardableResult
  func act(_ verb: String, _ argument: String = "") throws -> String {
    try script.use { thread, object throws(JavaFailure) in
      let text = try thread.object(
        method, of: object, [.object(thread.string(verb)), .object(thread.string(argument))])
      return text.map { thread.text($0) } ?? ""
    }
  }
}

/// Runs the checks of a test in a machine of their own.
///
/// The checks are a function outside of the test, so that a failure in the test's process has the line
/// of its check.
func inJava(_ classes: String, _ checks: (Java) async throws -> Void) async {
  do {
    try await checks(Java(classes: classes))
  } catch {
    Issue.record("\(error)")
  }
}

/// Checks that the machine of a process found no misuse of JNI.
func expectNoWarnings(_ result: ExitTest.Result?) {
  #expect(result.map(warnings) == [])
}

/// Returns the lines in which the machine of a process reports a misuse of JNI.
func warnings(_ result: ExitTest.Result) -> [String] {
  String(decoding: result.standardOutputContent, as: UTF8.self).split(separator: "\n")
    .filter { $0.contains("WARNING") || $0.contains("FATAL") || $0.hasPrefix("\tat ") }
    .map(String.init)
}
