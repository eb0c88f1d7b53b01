// A class that is sendable, a method, an optional method, versions, a platform and a value that differ
// from Apple/Facts.
typedef enum OPEN_ENUM CBPeripheralState : NSInteger {
  CBPeripheralStateConnected = 3,
} CBPeripheralState;
extern NSString *const CBConnectPeripheralOptionEnableAutoReconnect IOS(16.0) WATCHOS(9.0);
@protocol CBCentralManagerDelegate <NSObject>
@required
- (void)centralManager:(CBCentralManager *)central didConnectPeripheral:(CBPeripheral *)peripheral;
@end
SENDABLE
@interface CBPeripheral : CBPeer
- (void)setNotify:(BOOL)enabled forCharacteristic:(CBCharacteristic *)characteristic;
- (void)readRSSI NOT_ON_MACOS;
@end
