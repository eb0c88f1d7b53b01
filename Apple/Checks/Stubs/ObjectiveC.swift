// The parts of Apple's module ObjectiveC that the checks use.
public struct Selector: Hashable, Sendable { public init(_ s: String) {} }
public struct ObjCBool: Sendable { public init(_ b: Bool) {} }
@objc public protocol NSObjectProtocol { func isEqual(_ o: Any?) -> Bool }
@objc open class NSObject: NSObjectProtocol {
  public init() {}
  open func isEqual(_ o: Any?) -> Bool { false }
}
