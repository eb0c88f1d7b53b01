import CHoldfastJNI

/// The reason why a call into Java failed.
public enum JavaFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// Java threw an exception. The reason is the name that a `HoldfastException` contains.
  case thrown(reason: String?, text: String)
  /// The host was closed.
  case closed
  /// The virtual machine has ended, or has no room for another thread.
  case noThread

  /// A human-readable description of the reason.
  public var description: String {
    switch self {
    case .thrown(_, let text): text
    case .closed: "The Java host is closed."
    case .noThread: "The thread cannot be attached to the Java virtual machine."
    }
  }
}

/// A reference to a Java object.
///
/// A local reference is valid in one thread, until its frame ends. A global reference is valid as
/// long as its `JavaGlobal`.
@safe struct JavaObject {
  let address: HJNIObject

  init(_ address: HJNIObject) { unsafe self.address = address }
}

/// A method of a Java class, which is valid as long as the class is loaded.
struct JavaMethod: Sendable {
  // A number, because pointers are not Sendable.
  private let address: Int

  init(_ method: HJNIMethod) { address = Int(bitPattern: method) }

  var method: HJNIMethod? { unsafe HJNIMethod(bitPattern: address) }
}

/// An argument of a call.
enum JavaValue {
  case object(JavaObject?)
  case long(Int64)
  case bool(Bool)

  fileprivate var value: HJNIValue {
    switch self {
    case .object(let object): unsafe HJNIValue(l: object?.address)
    case .long(let number): unsafe HJNIValue(j: number)
    case .bool(let isTrue): unsafe HJNIValue(z: isTrue ? 1 : 0)
    }
  }
}

/// The virtual machine as one thread sees it. It must not leave the thread.
///
/// Each call that can throw in Java checks for an exception, and takes it out of the thread.
@safe struct JavaThread {
  private let environment: UnsafeMutablePointer<HJNIEnvironment>

  init(_ environment: UnsafeMutablePointer<HJNIEnvironment>) {
    unsafe self.environment = environment
  }

  private var functions: UnsafePointer<HJNIFunctions> { unsafe environment.pointee }

  /// Runs a function whose local references end with it.
  ///
  /// A thread that Swift attached has no frame of Java, so its references would otherwise stay until
  /// the thread ends. An exception that was thrown earlier belongs to the caller: it is put aside
  /// meanwhile, because almost no function of JNI may be called beside one.
  func inFrame<R>(_ body: (JavaThread) throws(JavaFailure) -> R) throws(JavaFailure) -> R {
    let earlier = unsafe functions.pointee.ExceptionOccurred(environment)
    if unsafe earlier != nil { unsafe functions.pointee.ExceptionClear(environment) }
    defer {
      if let earlier = unsafe earlier {
        _ = unsafe functions.pointee.Throw(environment, earlier)
        unsafe functions.pointee.DeleteLocalRef(environment, earlier)
      }
    }
    guard unsafe functions.pointee.PushLocalFrame(environment, 16) == HJNI_OK else {
      try check()
      throw .noThread
    }
    defer { _ = unsafe functions.pointee.PopLocalFrame(environment, nil) }
    return try body(self)
  }

  // MARK: Classes

  func type(of object: JavaObject) -> JavaObject {
    unsafe JavaObject(functions.pointee.GetObjectClass(environment, object.address))
  }

  func method(
    _ name: String, _ signature: String, of type: JavaObject
  ) throws(JavaFailure) -> JavaMethod {
    let method = unsafe functions.pointee.GetMethodID(environment, type.address, name, signature)
    try check()
    guard let method = unsafe method else { throw .thrown(reason: nil, text: "no method \(name)") }
    return unsafe JavaMethod(method)
  }

  /// Returns a class that the loader of another class finds.
  ///
  /// `FindClass` would not do: in a thread that Swift attached, it asks the system's loader, which
  /// on Android knows no class of the app.
  func load(_ name: String, beside neighbour: JavaObject) throws(JavaFailure) -> JavaObject {
    let loading = try method(
      "getClassLoader", "()Ljava/lang/ClassLoader;", of: type(of: neighbour))
    guard let loader = try object(loading, of: neighbour) else {
      throw .thrown(reason: nil, text: "the class of the host has no loader")
    }
    let load = try method(
      "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;", of: type(of: loader))
    guard let found = try object(load, of: loader, [.object(string(name))]) else {
      throw .thrown(reason: nil, text: "the class \(name) was not found")
    }
    return found
  }

  func register(_ natives: [HJNINative], of type: JavaObject) throws(JavaFailure) {
    let status = unsafe functions.pointee.RegisterNatives(
      environment, type.address, natives, Int32(natives.count))
    try check()
    if status != HJNI_OK {
      throw .thrown(reason: nil, text: "the native methods were refused")
    }
  }

  // MARK: Calls

  func call(
    _ method: JavaMethod, of object: JavaObject, _ arguments: [JavaValue] = []
  ) throws(JavaFailure) {
    guard let method = unsafe method.method else { return }
    unsafe functions.pointee.CallVoidMethodA(
      environment, object.address, method, arguments.map(\.value))
    try check()
  }

  func object(
    _ method: JavaMethod, of object: JavaObject, _ arguments: [JavaValue] = []
  ) throws(JavaFailure) -> JavaObject? {
    guard let method = unsafe method.method else { return nil }
    let result = unsafe functions.pointee.CallObjectMethodA(
      environment, object.address, method, arguments.map(\.value))
    try check()
    return unsafe result.map { unsafe JavaObject($0) }
  }

  func bool(
    _ method: JavaMethod, of object: JavaObject, _ arguments: [JavaValue] = []
  ) throws(JavaFailure) -> Bool {
    guard let method = unsafe method.method else { return false }
    let result = unsafe functions.pointee.CallBooleanMethodA(
      environment, object.address, method, arguments.map(\.value))
    try check()
    return result != 0
  }

  /// Creates an object of a class.
  func make(
    _ type: JavaObject, _ signature: String, _ arguments: [JavaValue]
  ) throws(JavaFailure) -> JavaObject {
    let creator = try method("<init>", signature, of: type)
    guard let creator = unsafe creator.method else { throw .noThread }
    let made = unsafe functions.pointee.NewObjectA(
      environment, type.address, creator, arguments.map(\.value))
    try check()
    guard let made = unsafe made else { throw .thrown(reason: nil, text: "no object was made") }
    return unsafe JavaObject(made)
  }

  // MARK: Texts

  /// Returns a Java string.
  ///
  /// It is made of UTF-16, because the UTF-8 of JNI is another one: Android ends the process when
  /// it contains an emoji in four bytes.
  func string(_ text: String) throws(JavaFailure) -> JavaObject {
    let units = Array(text.utf16)
    let made = unsafe functions.pointee.NewString(environment, units, Int32(units.count))
    try check()
    guard let made = unsafe made else { throw .thrown(reason: nil, text: "no string was made") }
    return unsafe JavaObject(made)
  }

  func string(_ text: String?) throws(JavaFailure) -> JavaObject? {
    guard let text else { return nil }
    let made: JavaObject = try string(text)
    return made
  }

  func text(_ string: JavaObject) -> String {
    let count = unsafe functions.pointee.GetStringLength(environment, string.address)
    guard count > 0 else { return "" }
    var units = [UInt16](repeating: 0, count: Int(count))
    unsafe functions.pointee.GetStringRegion(environment, string.address, 0, count, &units)
    return String(decoding: units, as: UTF16.self)
  }

  // MARK: Exceptions

  /// Throws the exception that is pending in Java, if there is one, and clears it.
  func check() throws(JavaFailure) {
    guard let thrown = unsafe functions.pointee.ExceptionOccurred(environment) else { return }
    unsafe functions.pointee.ExceptionClear(environment)
    let exception = unsafe JavaObject(thrown)
    let text = answer("toString", of: exception)
    throw .thrown(
      reason: answer("reasonName", of: exception), text: text ?? "an exception without a text")
  }

  /// Returns the result of a method without arguments; `nil` if there is no such method, or if it
  /// throws in turn.
  private func answer(_ name: String, of object: JavaObject) -> String? {
    defer { unsafe functions.pointee.ExceptionClear(environment) }
    let type = type(of: object)
    let method = unsafe functions.pointee.GetMethodID(
      environment, type.address, name, "()Ljava/lang/String;")
    guard let method = unsafe method else { return nil }
    let result = unsafe functions.pointee.CallObjectMethodA(
      environment, object.address, method, [])
    guard unsafe functions.pointee.ExceptionOccurred(environment) == nil,
      let result = unsafe result
    else { return nil }
    return text(unsafe JavaObject(result))
  }

  // MARK: Machine and global references

  fileprivate var machine: UnsafeMutablePointer<HJNIMachine>? {
    var machine: UnsafeMutablePointer<HJNIMachine>?
    _ = unsafe functions.pointee.GetJavaVM(environment, &machine)
    return unsafe machine
  }

  fileprivate func keep(_ object: JavaObject) -> HJNIObject? {
    unsafe functions.pointee.NewGlobalRef(environment, object.address)
  }

  fileprivate func drop(_ object: JavaObject) {
    unsafe functions.pointee.DeleteGlobalRef(environment, object.address)
  }
}

/// The Java virtual machine of this process, which any thread can use.
struct JavaMachine: Sendable {
  // A number, because pointers are not Sendable. The machine's functions may be called from any thread.
  private let address: UInt

  init(of thread: JavaThread) throws(JavaFailure) {
    guard let machine = unsafe thread.machine else { throw .noThread }
    address = UInt(bitPattern: machine)
  }

  /// Runs a function in this thread, which is attached to the machine until the thread ends.
  ///
  /// Attaching and detaching for each call would make a thread object of Java for each call.
  func run<R>(_ body: (JavaThread) throws(JavaFailure) -> R) throws(JavaFailure) -> R {
    guard let machine = unsafe UnsafeMutablePointer<HJNIMachine>(bitPattern: address),
      let environment = unsafe holdfast_jni_attach(machine)
    else { throw .noThread }
    return try unsafe JavaThread(environment).inFrame(body)
  }
}

/// A global reference to a Java object, which keeps the object until it is released.
final class JavaGlobal: Sendable {
  // A number, because pointers are not Sendable. A global reference may be used in any thread.
  private let address: UInt
  private let machine: JavaMachine

  init(_ object: JavaObject, in thread: JavaThread) throws(JavaFailure) {
    machine = try JavaMachine(of: thread)
    guard let kept = unsafe thread.keep(object) else {
      try thread.check()
      throw .noThread
    }
    address = UInt(bitPattern: kept)
  }

  deinit {
    // A machine that has ended has no references.
    try? use { thread, object in thread.drop(object) }
  }

  /// Runs a function with the object, in this thread.
  func use<R>(
    _ body: (JavaThread, JavaObject) throws(JavaFailure) -> R
  ) throws(JavaFailure) -> R {
    try machine.run { thread throws(JavaFailure) in
      guard let object = unsafe HJNIObject(bitPattern: address) else { throw .closed }
      return try body(thread, unsafe JavaObject(object))
    }
  }
}
