// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware images and their flashing. An image names its device family (PSID), component and
 * version, so that a wrong one is refused before anything is written. tests/lab/mkfw.py makes them.
 */
#include <linux/crc32.h>
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/firmware.h>

#include "solar_rdma.h"

#define SOLAR_FW_MAGIC "SOLARFW1"
#define SOLAR_FLASH_STEPS 16
#define SOLAR_FLASH_STEP_MS_MAX 10000U

struct solar_image {
	char magic[8];
	char psid[16];
	char component[16];
	char version[SOLAR_FW_MAX];
	__le32 payload_size;
	__le32 payload_crc32; /* as zlib's crc32 */
	u8 payload[];
} __packed;

const char *const solar_fw_names[SOLAR_FWS] = { "fw", "fw.undi" };

static int refuse(struct netlink_ext_ack *extack, const char *why)
{
	if (extack)
		extack->_msg = why;
	return -EINVAL;
}

/* A text of a fixed field: printable, ended, not empty. */
static bool is_text(const char *field, size_t size)
{
	size_t i, len = strnlen(field, size);

	for (i = 0; i < len; i++)
		if (!isprint(field[i]))
			return false;
	return len > 0 && len < size;
}

static int check_image(const struct firmware *fw, struct netlink_ext_ack *extack)
{
	const struct solar_image *image = (const struct solar_image *)fw->data;
	u32 size;

	if (fw->size < sizeof(*image) ||
	    memcmp(image->magic, SOLAR_FW_MAGIC, sizeof(image->magic)))
		return refuse(extack, SOLAR_NAME ": not a firmware image of this family");
	size = fw->size - sizeof(*image);
	if (le32_to_cpu(image->payload_size) != size)
		return refuse(extack, SOLAR_NAME ": image is cut or has trailing data");
	if ((crc32_le(~0, image->payload, size) ^ ~0) != le32_to_cpu(image->payload_crc32))
		return refuse(extack, SOLAR_NAME ": image digest is wrong");
	if (!is_text(image->psid, sizeof(image->psid)) ||
	    !is_text(image->component, sizeof(image->component)) ||
	    !is_text(image->version, sizeof(image->version)))
		return refuse(extack, SOLAR_NAME ": image header is malformed");
	if (strcmp(image->psid, SOLAR_FW_PSID))
		return refuse(extack, SOLAR_NAME ": image PSID does not match " SOLAR_FW_PSID);
	return 0;
}

static int find_component(const struct solar_image *image, const char *wanted,
			  struct netlink_ext_ack *extack)
{
	int i = match_string(solar_fw_names, SOLAR_FWS, image->component);

	if (i < 0)
		return refuse(extack, SOLAR_NAME ": image is for no component of this device");
	if (wanted && strcmp(wanted, image->component))
		return refuse(extack, SOLAR_NAME ": image is for another component");
	return i;
}

/* Erase without a figure, then the payload in steps. */
static int write_image(struct solar_port *port, const char *component, u32 size,
		       struct netlink_ext_ack *extack)
{
	u32 step_ms = min(READ_ONCE(port->flash_step_ms), SOLAR_FLASH_STEP_MS_MAX);
	unsigned int i, fail = READ_ONCE(port->flash_fail_percent);

	devlink_flash_update_timeout_notify(port->devlink, "Erasing", component,
					    1 + (SOLAR_FLASH_STEPS * step_ms) / 1000);
	for (i = 0; i <= SOLAR_FLASH_STEPS; i++) {
		u64 done = div_u64((u64)size * i, SOLAR_FLASH_STEPS);

		if (fail && i * 100 >= fail * SOLAR_FLASH_STEPS) {
			NL_SET_ERR_MSG_MOD(extack, "writing the flash failed, stored image kept");
			return -EIO;
		}
		devlink_flash_update_status_notify(port->devlink, "Flashing", component, done,
						   size);
		if (step_ms && i < SOLAR_FLASH_STEPS)
			msleep(step_ms);
	}
	return 0;
}

/* Blocks as on hardware, under the devlink lock. The old stored image stays until the last step. */
int solar_flash_update(struct devlink *devlink, struct devlink_flash_update_params *params,
		       struct netlink_ext_ack *extack)
{
	const struct solar_image *image = (const struct solar_image *)params->fw->data;
	struct solar_port *port = solar_port_of(devlink);
	int verdict, component, err;

	devlink_flash_update_status_notify(devlink, "Checking image", params->component, 0, 0);
	err = check_image(params->fw, extack);
	if (err)
		return err;
	component = find_component(image, params->component, extack);
	if (component < 0)
		return component;
	verdict = solar_fault_check(port, SOLAR_OP_FLASH);
	if (verdict < 0) {
		NL_SET_ERR_MSG_MOD(extack, "fault on demand");
		return verdict;
	}
	err = write_image(port, image->component, le32_to_cpu(image->payload_size), extack);
	if (err)
		return err;
	if (verdict == SOLAR_APPLY)
		strscpy(port->fw[component].stored, image->version, SOLAR_FW_MAX);
	devlink_flash_update_status_notify(devlink, "Flashing done", image->component, 0, 0);
	return 0;
}

/* Under the rtnl lock. A later, good activation brings a dead link back. */
void solar_fw_activate(struct solar_port *port)
{
	unsigned int i;

	for (i = 0; i < SOLAR_FWS; i++)
		strscpy(port->fw[i].running, port->fw[i].stored, SOLAR_FW_MAX);
	port->link_dead = READ_ONCE(port->activate_kills_link);
}

void solar_fw_init(struct solar_port *port)
{
	const char *const versions[SOLAR_FWS] = { solar_fw_version, "1.4.2" };
	unsigned int i;

	for (i = 0; i < SOLAR_FWS; i++) {
		strscpy(port->fw[i].running, versions[i], SOLAR_FW_MAX);
		strscpy(port->fw[i].stored, versions[i], SOLAR_FW_MAX);
	}
}
