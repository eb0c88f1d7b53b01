// The parts of Apple's module Dispatch that the checks use.
#if canImport(ObjectiveC)
  @_exported public import ObjectiveC
  open class DispatchObject: NSObject {}
#else
  open class DispatchObject { public init() {} }
#endif
public class DispatchQueue: DispatchObject, @unchecked Sendable {
  public convenience init(label: String) { self.init() }
  public class var main: DispatchQueue { DispatchQueue(label: "") }
  public func async(execute work: @escaping @Sendable () -> Void) {}
  public func asyncAfter(deadline: DispatchTime, execute work: @escaping @Sendable () -> Void) {}
  public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
}
public enum DispatchPredicate { case onQueue(DispatchQueue), notOnQueue(DispatchQueue) }
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {}
public enum DispatchTimeInterval: Sendable {
  case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int)
}
public struct DispatchTime: Sendable {
  public static func now() -> DispatchTime { DispatchTime() }
  public static func + (l: DispatchTime, r: DispatchTimeInterval) -> DispatchTime { l }
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
