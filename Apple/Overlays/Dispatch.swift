// The parts of Apple's module Dispatch that the checks use.
#if canImport(ObjectiveC)
  @_exported public import ObjectiveC
  open class DispatchObject: NSObject {}
#else
  open class DispatchObject { public init() {} }
  open class DispatchQueue: DispatchObject, @unchecked Sendable {}
#endif

extension DispatchQueue {
  public struct Attributes: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let concurrent = Attributes(rawValue: 1)
  }
  public enum AutoreleaseFrequency: Sendable { case inherit, workItem, never }
  public convenience init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) { self.init() }
  public class var main: DispatchQueue { fatalError() }
  public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError() }
  public class func concurrentPerform(iterations: Int, execute work: (Int) -> Void) {}
  public var label: String { "" }
  public func suspend() {}
  public func resume() {}
  public func async(execute work: @escaping @Sendable () -> Void) {}
  public func asyncAfter(
    deadline: DispatchTime, execute work: @escaping @Sendable () -> Void
  ) {}
  public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
  public func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {}
  public class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? { nil }
}
public final class DispatchSpecificKey<T>: @unchecked Sendable {
  public init() {}
}
public struct DispatchQoS: Equatable, Sendable {
  public enum QoSClass: Sendable {
    case background, utility, `default`, userInitiated, userInteractive, unspecified
  }
  public static let background = DispatchQoS(), utility = DispatchQoS(), `default` = DispatchQoS()
  public static let userInitiated = DispatchQoS(), userInteractive = DispatchQoS()
  public static let unspecified = DispatchQoS()
}
public enum DispatchPredicate {
  case onQueue(DispatchQueue), onQueueAsBarrier(DispatchQueue), notOnQueue(DispatchQueue)
}
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {}
public enum DispatchTimeInterval: Sendable {
  case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int)
}
public struct DispatchTime: Sendable {
  public static func now() -> DispatchTime { DispatchTime() }
  public static func + (left: DispatchTime, right: DispatchTimeInterval) -> DispatchTime { left }
}
public class DispatchGroup: DispatchObject, @unchecked Sendable {
  public func enter() {}
  public func leave() {}
  public func wait() {}
}
public class DispatchSemaphore: DispatchObject, @unchecked Sendable {
  public convenience init(value: Int) { self.init() }
  public func wait() {}
  @discardableResult public func signal() -> Int { 0 }
}
