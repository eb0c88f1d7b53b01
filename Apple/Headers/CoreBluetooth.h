// What the package uses of Core Bluetooth.
#pragma once
@import Foundation;
#pragma clang assume_nonnull begin

@class CBCentralManager, CBPeripheral, CBUUID, CBService, CBCharacteristic;

typedef enum OPEN_ENUM CBManagerState : NSInteger {
  CBManagerStateUnknown = 0,
  CBManagerStateResetting = 1,
  CBManagerStateUnsupported = 2,
  CBManagerStateUnauthorized = 3,
  CBManagerStatePoweredOff = 4,
  CBManagerStatePoweredOn = 5,
} CBManagerState;
typedef enum OPEN_ENUM CBManagerAuthorization : NSInteger {
  CBManagerAuthorizationNotDetermined = 0,
  CBManagerAuthorizationRestricted = 1,
  CBManagerAuthorizationDenied = 2,
  CBManagerAuthorizationAllowedAlways = 3,
} CBManagerAuthorization;
typedef enum OPEN_ENUM CBPeripheralState : NSInteger {
  CBPeripheralStateDisconnected = 0,
  CBPeripheralStateConnecting = 1,
  CBPeripheralStateConnected = 2,
  CBPeripheralStateDisconnecting = 3,
} CBPeripheralState;
typedef enum OPEN_ENUM CBCharacteristicWriteType : NSInteger {
  CBCharacteristicWriteWithResponse = 0,
  CBCharacteristicWriteWithoutResponse = 1,
} CBCharacteristicWriteType;
typedef enum OPTIONS CBCharacteristicProperties : NSUInteger {
  CBCharacteristicPropertyBroadcast = 0x01,
  CBCharacteristicPropertyRead = 0x02,
  CBCharacteristicPropertyWriteWithoutResponse = 0x04,
  CBCharacteristicPropertyWrite = 0x08,
  CBCharacteristicPropertyNotify = 0x10,
  CBCharacteristicPropertyIndicate = 0x20,
} CBCharacteristicProperties;

extern NSString *const CBErrorDomain;
typedef enum ERRORS(CBErrorDomain) CBError : NSInteger {
  CBErrorUnknown = 0,
  CBErrorInvalidParameters = 1,
  CBErrorInvalidHandle = 2,
  CBErrorNotConnected = 3,
  CBErrorOutOfSpace = 4,
  CBErrorOperationCancelled = 5,
  CBErrorConnectionTimeout = 6,
  CBErrorPeripheralDisconnected = 7,
  CBErrorUUIDNotAllowed = 8,
  CBErrorAlreadyAdvertising = 9,
  CBErrorConnectionFailed = 10,
  CBErrorConnectionLimitReached = 11,
  CBErrorUnknownDevice = 12,
  CBErrorOperationNotSupported = 13,
  CBErrorPeerRemovedPairingInformation = 14,
  CBErrorEncryptionTimedOut = 15,
  CBErrorTooManyLEPairedDevices = 16,
} CBError;
extern NSString *const CBATTErrorDomain;
typedef enum ERRORS(CBATTErrorDomain) CBATTError : NSInteger {
  CBATTErrorSuccess = 0,
  CBATTErrorInvalidHandle = 1,
  CBATTErrorReadNotPermitted = 2,
  CBATTErrorWriteNotPermitted = 3,
  CBATTErrorInvalidPdu = 4,
  CBATTErrorInsufficientAuthentication = 5,
  CBATTErrorRequestNotSupported = 6,
  CBATTErrorInvalidOffset = 7,
  CBATTErrorInsufficientAuthorization = 8,
  CBATTErrorPrepareQueueFull = 9,
  CBATTErrorAttributeNotFound = 10,
  CBATTErrorAttributeNotLong = 11,
  CBATTErrorInsufficientEncryptionKeySize = 12,
  CBATTErrorInvalidAttributeValueLength = 13,
  CBATTErrorUnlikelyError = 14,
  CBATTErrorInsufficientEncryption = 15,
  CBATTErrorUnsupportedGroupType = 16,
  CBATTErrorInsufficientResources = 17,
} CBATTError;

extern NSString *const CBCentralManagerOptionShowPowerAlertKey;
extern NSString *const CBCentralManagerOptionRestoreIdentifierKey;
extern NSString *const CBCentralManagerScanOptionAllowDuplicatesKey;
extern NSString *const CBCentralManagerRestoredStatePeripheralsKey;
extern NSString *const CBCentralManagerRestoredStateScanServicesKey;
extern NSString *const CBCentralManagerRestoredStateScanOptionsKey;
extern NSString *const CBConnectPeripheralOptionNotifyOnConnectionKey;
extern NSString *const CBConnectPeripheralOptionNotifyOnDisconnectionKey;
extern NSString *const CBConnectPeripheralOptionNotifyOnNotificationKey;
extern NSString *const CBConnectPeripheralOptionEnableAutoReconnect IOS(17.0) MACOS(14.0) WATCHOS(10.0);
extern NSString *const CBConnectPeripheralOptionStartDelayKey;
extern NSString *const CBAdvertisementDataLocalNameKey;
extern NSString *const CBAdvertisementDataServiceUUIDsKey;
extern NSString *const CBAdvertisementDataIsConnectable;

@interface CBUUID : NSObject <NSCopying>
@property(nonatomic, readonly) NSData *data;
@property(nonatomic, readonly) NSString *UUIDString;
+ (CBUUID *)UUIDWithString:(NSString *)theString;
+ (CBUUID *)UUIDWithData:(NSData *)theData;
+ (CBUUID *)UUIDWithNSUUID:(NSUUID *)theUUID;
@end

@interface CBManager : NSObject
@property(nonatomic, assign, readonly) CBManagerState state;
@property(class, nonatomic, assign, readonly) CBManagerAuthorization authorization;
- (instancetype)init UNAVAILABLE;
@end
@interface CBAttribute : NSObject
@property(readonly, nonatomic) CBUUID *UUID;
- (instancetype)init UNAVAILABLE;
@end
@interface CBService : CBAttribute
@property(weak, readonly, nonatomic, nullable) CBPeripheral *peripheral;
@property(readonly, nonatomic) BOOL isPrimary;
@property(retain, readonly, nullable) NSArray<CBCharacteristic *> *characteristics;
@end
@interface CBCharacteristic : CBAttribute
@property(weak, readonly, nonatomic, nullable) CBService *service;
@property(readonly, nonatomic) CBCharacteristicProperties properties;
@property(retain, readonly, nullable) NSData *value;
@property(readonly) BOOL isNotifying;
@end
@interface CBPeer : NSObject <NSCopying>
@property(readonly, nonatomic) NSUUID *identifier;
- (instancetype)init UNAVAILABLE;
@end

@protocol CBPeripheralDelegate <NSObject>
@optional
- (void)peripheralDidUpdateName:(CBPeripheral *)peripheral;
- (void)peripheral:(CBPeripheral *)peripheral didModifyServices:(NSArray<CBService *> *)invalidatedServices;
- (void)peripheral:(CBPeripheral *)peripheral didReadRSSI:(NSNumber *)RSSI error:(nullable NSError *)error;
- (void)peripheral:(CBPeripheral *)peripheral didDiscoverServices:(nullable NSError *)error;
- (void)peripheral:(CBPeripheral *)peripheral didDiscoverCharacteristicsForService:(CBService *)service error:(nullable NSError *)error;
- (void)peripheral:(CBPeripheral *)peripheral didUpdateValueForCharacteristic:(CBCharacteristic *)characteristic error:(nullable NSError *)error;
- (void)peripheral:(CBPeripheral *)peripheral didWriteValueForCharacteristic:(CBCharacteristic *)characteristic error:(nullable NSError *)error;
- (void)peripheral:(CBPeripheral *)peripheral didUpdateNotificationStateForCharacteristic:(CBCharacteristic *)characteristic error:(nullable NSError *)error;
- (void)peripheralIsReadyToSendWriteWithoutResponse:(CBPeripheral *)peripheral;
@end
@interface CBPeripheral : CBPeer
@property(weak, nonatomic, nullable) id<CBPeripheralDelegate> delegate;
@property(retain, readonly, nullable) NSString *name;
@property(readonly) CBPeripheralState state;
@property(retain, readonly, nullable) NSArray<CBService *> *services;
@property(readonly) BOOL canSendWriteWithoutResponse;
- (void)readRSSI;
- (void)discoverServices:(nullable NSArray<CBUUID *> *)serviceUUIDs;
- (void)discoverCharacteristics:(nullable NSArray<CBUUID *> *)characteristicUUIDs forService:(CBService *)service;
- (void)readValueForCharacteristic:(CBCharacteristic *)characteristic;
- (NSUInteger)maximumWriteValueLengthForType:(CBCharacteristicWriteType)type;
- (void)writeValue:(NSData *)data forCharacteristic:(CBCharacteristic *)characteristic type:(CBCharacteristicWriteType)type;
- (void)setNotifyValue:(BOOL)enabled forCharacteristic:(CBCharacteristic *)characteristic;
@end

@protocol CBCentralManagerDelegate <NSObject>
@required
- (void)centralManagerDidUpdateState:(CBCentralManager *)central;
@optional
- (void)centralManager:(CBCentralManager *)central willRestoreState:(NSDictionary<NSString *, id> *)dict;
- (void)centralManager:(CBCentralManager *)central didDiscoverPeripheral:(CBPeripheral *)peripheral advertisementData:(NSDictionary<NSString *, id> *)advertisementData RSSI:(NSNumber *)RSSI;
- (void)centralManager:(CBCentralManager *)central didConnectPeripheral:(CBPeripheral *)peripheral;
- (void)centralManager:(CBCentralManager *)central didFailToConnectPeripheral:(CBPeripheral *)peripheral error:(nullable NSError *)error;
- (void)centralManager:(CBCentralManager *)central didDisconnectPeripheral:(CBPeripheral *)peripheral error:(nullable NSError *)error;
- (void)centralManager:(CBCentralManager *)central didDisconnectPeripheral:(CBPeripheral *)peripheral timestamp:(CFAbsoluteTime)timestamp isReconnecting:(BOOL)isReconnecting error:(nullable NSError *)error IOS(17.0) MACOS(14.0) WATCHOS(10.0);
@end
@interface CBCentralManager : CBManager
@property(nonatomic, weak, nullable) id<CBCentralManagerDelegate> delegate;
@property(nonatomic, readonly) BOOL isScanning;
- (instancetype)init;
- (instancetype)initWithDelegate:(nullable id<CBCentralManagerDelegate>)delegate queue:(nullable OS_dispatch_queue *)queue;
- (instancetype)initWithDelegate:(nullable id<CBCentralManagerDelegate>)delegate queue:(nullable OS_dispatch_queue *)queue options:(nullable NSDictionary<NSString *, id> *)options DESIGNATED;
- (NSArray<CBPeripheral *> *)retrievePeripheralsWithIdentifiers:(NSArray<NSUUID *> *)identifiers;
- (NSArray<CBPeripheral *> *)retrieveConnectedPeripheralsWithServices:(NSArray<CBUUID *> *)serviceUUIDs;
- (void)scanForPeripheralsWithServices:(nullable NSArray<CBUUID *> *)serviceUUIDs options:(nullable NSDictionary<NSString *, id> *)options;
- (void)stopScan;
- (void)connectPeripheral:(CBPeripheral *)peripheral options:(nullable NSDictionary<NSString *, id> *)options;
- (void)cancelPeripheralConnection:(CBPeripheral *)peripheral;
@end
#pragma clang assume_nonnull end
