// How the types of Swift and Foundation are bridged to classes of Objective-C. The compiler needs only
// the declarations.
#if canImport(ObjectiveC)
  extension _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> _ObjectiveCType { fatalError() }
    public static func _forceBridgeFromObjectiveC(
      _ source: _ObjectiveCType, result: inout Self?
    ) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: _ObjectiveCType, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: _ObjectiveCType?) -> Self {
      fatalError()
    }
  }

  extension String: @retroactive _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSString
  }
  extension Array: @retroactive _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSArray }
  extension Set: @retroactive _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSSet }
  extension Dictionary: @retroactive _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSDictionary
  }
  extension AnyHashable: @retroactive _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSObject
  }
  extension Int: @retroactive _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSNumber }
  extension Double: @retroactive _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSNumber
  }
  extension Bool: @retroactive _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSNumber }
  extension UUID: _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSUUID }
  extension Data: _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSData }
  extension Date: _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSDate }
  extension URL: _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSURL }
  extension URLRequest: _ObjectiveCBridgeable { public typealias _ObjectiveCType = NSURLRequest }
  extension Notification: _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSNotification
  }
#endif
