// How the types of Swift and Foundation are bridged to classes of Objective-C. The compiler needs only
// the declarations.
#if canImport(ObjectiveC)

  extension String: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSString { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSString, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> Self {
      fatalError()
    }
  }

  extension Array: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSArray { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSArray, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSArray, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSArray?) -> Self {
      fatalError()
    }
  }

  extension Set: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSSet { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSSet, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSSet, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSSet?) -> Self {
      fatalError()
    }
  }

  extension Dictionary: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSDictionary { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSDictionary, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSDictionary, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDictionary?) -> Self {
      fatalError()
    }
  }

  extension AnyHashable: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSObject { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSObject, result: inout AnyHashable?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSObject, result: inout AnyHashable?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSObject?) -> AnyHashable {
      fatalError()
    }
  }

  extension Int: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSNumber { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSNumber, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSNumber, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSNumber?) -> Self {
      fatalError()
    }
  }

  extension Double: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSNumber { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSNumber, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSNumber, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSNumber?) -> Self {
      fatalError()
    }
  }

  extension Bool: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSNumber { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSNumber, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSNumber, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSNumber?) -> Self {
      fatalError()
    }
  }

  extension UUID: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSUUID { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSUUID, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSUUID, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSUUID?) -> Self {
      fatalError()
    }
  }

  extension Data: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSData { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSData, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSData, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSData?) -> Self {
      fatalError()
    }
  }

  extension Date: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSDate { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSDate, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSDate, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDate?) -> Self {
      fatalError()
    }
  }

  extension URL: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSURL { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSURL, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSURL, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURL?) -> Self {
      fatalError()
    }
  }

  extension URLRequest: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSURLRequest { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSURLRequest, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSURLRequest, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> Self {
      fatalError()
    }
  }

  extension Notification: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSNotification { fatalError() }
    public static func _forceBridgeFromObjectiveC(_ source: NSNotification, result: inout Self?) {}
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSNotification, result: inout Self?
    ) -> Bool { false }
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSNotification?) -> Self {
      fatalError()
    }
  }
#endif
