// The Swift half of Apple's module ObjectiveC.
@_exported public import ObjectiveC

public struct Selector: Hashable, Sendable { public init(_ name: String) {} }
public struct ObjCBool: Sendable {
  // The compiler compares the stored value when a method with an `NSError` returns.
  var value: UInt8
  public init(_ value: Bool) { self.value = 0 }
}

// The importer looks up these functions by name.
public func _convertBoolToObjCBool(_ value: Bool) -> ObjCBool { ObjCBool(value) }
public func _convertObjCBoolToBool(_ value: ObjCBool) -> Bool { false }

extension NSObject: Equatable, Hashable {
  public static func == (left: NSObject, right: NSObject) -> Bool { false }
  public func hash(into hasher: inout Hasher) {}
}
